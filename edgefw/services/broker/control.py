"""Changes of the delay plan while the broker runs: checked, kept in the journal, put in force, told."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from edgefw.core.account import BROKER
from edgefw.delays.changes import changes_in_words, difference
from edgefw.delays.edits import without
from edgefw.delays.hold import RoundsHold
from edgefw.delays.plan import plan_to_json
from edgefw.errors import JournalFullError
from edgefw.services.broker.events import Events
from edgefw.services.broker.steering import LinkState
from edgefw.services.broker.timeline import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prometheus_client import CollectorRegistry

    from edgefw.delays.entry import Moment, PlanEntry
    from edgefw.delays.hold import Hold
    from edgefw.delays.link import Held
    from edgefw.delays.plan import Plan
    from edgefw.services.broker.account import Account
    from edgefw.services.broker.journal import Journal
    from edgefw.telemetry.metrics import BrokerMetrics

log = logging.getLogger(__name__)

LONGEST_SLEEP = 60.0
RETRY = 0.25  # seconds after which a fault that is over is removed where it could not be before


class Control:
    """The one way to change the plan. What is in force is on disk; edits build on one another in order."""

    def __init__(
        self,
        hold: Hold,
        journal: Journal,
        metrics: BrokerMetrics,
        registry: CollectorRegistry,
        account: Account,
    ) -> None:
        self._hold, self._journal, self._metrics, self.registry = hold, journal, metrics, registry
        self._account = account
        self.ready = False
        self._proposed = hold.plan  # the newest plan, in force or on its way to the disk
        self._failures = 0
        self._changed = asyncio.Event()
        self._seen = self._account.now()  # up to here, beginnings have been taken care of
        self.connected: Callable[[int], bool] = self._has_collected
        self.release_due: Callable[[], None] = lambda: None
        self.tell_dropped: Callable[[int, Sequence[int]], None] = lambda _agent, _rounds: None
        self.run_name = ""  # what the run is called
        self.wake: Callable[[float, float], None] = lambda _due, _now: None  # told when something is due
        self.events = Events()

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._hold.plan

    def link(self, agent: int) -> LinkState:
        """Return the link of an agent; that takes no longer where much is pending."""
        link, plan, now = self._hold.links[agent], self.plan, self._account.now()
        next_due = self._hold.next_due_of(agent)
        wall = plan.rules.clock == "wall"
        return LinkState(
            agent=agent,
            enabled=agent not in plan.disabled,
            connected=self.connected(agent),
            pending=link.pending,
            due=len(link.released),
            oldest_age=None if link.oldest is None else now - link.oldest,
            accepted=link.count,
            delivered=link.delivered,
            requested_delay=link.last_requested,
            next_due=next_due - now if wall and next_due is not None else next_due,
            faults=plan.in_force(agent, now, link.highest, self._hold.start),
        )

    async def apply(self, kind: str, edit: Callable[[Plan, Moment], Plan], who: str = BROKER) -> Plan:
        """Put an edited plan in force and return it then. `who` asked for it.

        An error of the edit changes nothing.
        """
        plan = edit(self._proposed, self._hold.moment(self._account.now()))
        if plan is self._proposed:
            return plan
        plan.check_limits(self._hold.limits)
        self._proposed, failures = plan, self._failures
        try:
            await self._keep(plan)
        except JournalFullError:
            self._start_over()
            raise
        if failures != self._failures:
            self._start_over()
            with suppress(JournalFullError):  # on disk, this plan is newer than the one in force: no longer
                await self._keep(self._proposed)
            raise JournalFullError("an earlier change could not be kept: send this one again")
        if plan.version > self._hold.plan.version:  # else one that builds on it was kept too, and came first
            await self._put_in_force(kind, plan, who)
        return plan

    async def run(self) -> None:
        """Let faults begin and end by the clock, for ever."""
        while True:
            self._changed.clear()
            now, start = self._account.now(), self._hold.start
            self._begin_or_end(now)
            over = self.plan.over(self._hold.moment(now), start)
            if over and await self._remove(over):
                continue
            following = self.plan.next_moment(now, start)
            pause = LONGEST_SLEEP if following is None else min(following - now, LONGEST_SLEEP)
            with suppress(TimeoutError):
                async with asyncio.timeout(min(pause, RETRY) if over else pause):
                    await self._changed.wait()

    def submitted(self, agent: int, now: float) -> None:
        """Note that feedback has been taken over: the first starts the run, each may end a fault."""
        first = self._hold.start == now
        if first and self._hold.start is not None:
            self._journal.note_start(self._journal.timeline.real(self._hold.start))
        if first or self._counts_rounds():
            self._changed.set()
        if (due := self._hold.next_due_of(agent)) is not None:
            self.wake(due, now)

    def released(self, released: Sequence[Held], now: float) -> None:
        """Note what has been released."""
        self._account.released(released, now)
        if self.events.listeners:
            for held in released:
                self.events.publish(
                    "release",
                    {"agent": held.agent, "round": held.round, "requested_delay": held.requested_delay},
                )

    def _has_collected(self, agent: int) -> bool:
        return isinstance(self._hold, RoundsHold) and self._hold.collected[agent] > 0

    def _counts_rounds(self) -> bool:
        """Whether a fault ends when enough rounds have been submitted."""
        return self.plan.rules.clock == "rounds" and any(
            entry.since_rounds is not None and entry.fault.duration is not None for entry in self.plan.entries
        )

    async def _keep(self, plan: Plan) -> None:
        await self._journal.keep_plan(plan.version, plan_to_json(plan, self._journal.timeline.real))

    def _start_over(self) -> None:
        """Let edits build on the plan in force again, with a version above all that could not be kept."""
        self._failures += 1
        self._proposed = replace(self.plan, version=self._proposed.version + 1)

    async def _put_in_force(self, kind: str, plan: Plan, who: str) -> None:
        before = self._hold.plan
        if concerned := self._hold.change(plan):
            self.release_due()  # what was due before the change is not held by it
        now = self._account.now()
        self._account.changed(plan, now, self._in_words(before, plan, now), who)
        self._changed.set()
        for agent in concerned:
            self._redue(agent)
            await asyncio.sleep(0)  # releases go on meanwhile
        self._metrics.plan_changed(difference(kind, before, plan), self._journal.timeline.real(now) / SECOND)
        if kind in {"reset", "replace"} and plan.disabled:
            log.info("links that are disabled stay so: %s", ", ".join(map(str, sorted(plan.disabled))))
        self.events.publish("change", {"what": kind, "version": plan.version, "before": before.version})

    def _in_words(self, before: Plan, plan: Plan, now: float) -> Iterator[str]:
        """Yield what a change has changed, for whoever keeps an account."""
        for said in changes_in_words(before, plan, self._hold.moment(now), self._hold.start):
            yield said.text

    def dropped(self, agent: int, rounds: Sequence[int], now: float) -> None:
        """Note that feedback was taken away after it had been accepted."""
        if rounds:
            self._account.dropped(agent, rounds, now)
            self._journal.note_dropped(agent, rounds)
            self._metrics.dropped.labels(str(agent)).inc(len(rounds))
            self.tell_dropped(agent, rounds)

    def _redue(self, agent: int) -> None:
        now = self._account.now()
        self._account.redue(agent, now)
        self.dropped(agent, self._hold.redue(agent, now), now)
        self.wake(-math.inf, now)

    def _begin_or_end(self, now: float) -> None:
        """Let faults that act on what is pending begin to, or let go."""
        before, self._seen = self._seen, now
        if concerned := self.plan.touched(before, now, self._hold.start):
            self.release_due()
        for agent in concerned:
            self._redue(agent)

    async def _remove(self, over: Sequence[PlanEntry]) -> bool:
        """Take out faults that are over. Return False if that has to wait; they have no effect any more.

        Feedback is accepted only under versions that are on disk, so this waits for the disk as any change
        does.
        """
        before = self.plan
        with suppress(JournalFullError):
            await self.apply("ended", lambda plan, _: without(plan, over))
        return self.plan is not before
