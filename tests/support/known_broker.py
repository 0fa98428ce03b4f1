"""A bare broker, and beside it what a plain oracle knows about the feedback that it was given."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import delay_oracle as oracle
import pytest
from bare_broker import RUN_ID, Bare

from edgefw.core.account import UNANSWERED
from edgefw.delays.hold import WallHold
from edgefw.errors import JournalFullError, WireError
from edgefw.services.broker.journal import State
from edgefw.v1 import broker_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.delays.entry import Moment
    from edgefw.delays.link import Held
    from edgefw.delays.plan import Plan
    from edgefw.scenario.model import Scenario
    from edgefw.services.broker.journal import Row

Key = tuple[int, int]


class Known:
    """Does to the broker what it is told to, and asserts that it does what the oracle expects."""

    def __init__(self, bare: Bare, scenario: Scenario, faults: oracle.Faults) -> None:
        self.bare, self.world, self.faults = bare, bare.world, faults
        self._scenario, self._rounds = scenario, scenario.algorithm.rounds
        self.feedback: dict[Key, oracle.Feedback] = {}
        self.payloads: dict[Key, bytes] = {}
        self.start: float | None = None
        self.full = False
        self._expected: list[tuple[float, Key]] = []
        self._unsaved: set[Key] = set()  # done or dropped, and no commit since
        bare.start(scenario)
        bare.run(self._settle())

    @property
    def hold(self) -> WallHold:
        assert isinstance(self.bare.hold, WallHold)
        return self.bare.hold

    @property
    def now(self) -> oracle.Now:
        ended = {agent for agent, s in self.feedback if s == self._rounds}
        return oracle.Now(self.faults, self.world.now, self.start, ended)

    def of(self, *states: str) -> list[oracle.Feedback]:
        return [each for each in self.feedback.values() if each.state in states]

    def submit(self, agent: int, s: int, payload: bytes) -> None:
        self.bare.run(self._submit(agent, s, payload))

    def tick(self) -> None:
        """Let a second pass."""
        self.world.now += 1
        self._expect_due(replace(self.now, time=self.world.now - 0.5))  # as things stood before
        self.bare.run(self._settle())

    def acknowledge(self, agent: int, some: list[int]) -> None:
        before = [each.round for each in self.of("done") if each.agent == agent]
        news = self.hold.acknowledge(agent, [*some, *before])
        assert news == list(dict.fromkeys(some))
        self.bare.call(self.bare.broker._acknowledged, agent, news)
        for s in some:
            self.feedback[agent, s].state = "done"
            self._unsaved.add((agent, s))

    def edit(self, change: Callable[[Plan, Moment], Plan], then: Callable[[], oracle.Faults]) -> None:
        """Change the plan, and what the oracle knows about it."""
        self.bare.run(self._edit(change, then))

    def fill(self, *, full: bool) -> None:
        """Fill the disk, or make room on it."""
        self.full = full
        self.bare.disk.fill(full=full)
        self.bare.run(self._settle())

    def restart(self, *, cleanly: bool, ticks: int, reboots: bool) -> None:
        """Stop or kill the broker, perhaps the machine, and start it again."""
        self.bare.stop(cleanly=cleanly)
        self.world.now += ticks
        if reboots:
            self.world.booted = self.world.now - 5
        self.bare.start(self._scenario)
        self._expect_again(self.bare.found, set() if cleanly else self._unsaved)
        self._unsaved.clear()
        self.bare.run(self._settle())

    # -- how --

    async def _settle(self) -> None:
        """Let faults begin and end; what is due before one is removed is released before that."""
        released = await self.bare.settle(full=self.full)
        for each in self.of("pending"):
            if oracle.dropped(each, self.now):
                each.state = "dropped"
                self._unsaved.add(each.key)
        self._expect_due(self.now)
        if not self.full:  # else what is over has to wait, and does nothing any more
            self.faults = self.faults.without(self.faults.over(self.world.now, self.start))
        self._expect_due(self.now)
        self._check_released(released)
        for each in self.feedback.values():  # so who still waits for one is told that it will not come
            assert self.hold.links[each.agent].gone(each.round) == (each.state in {"done", "dropped"})

    def _expect_due(self, now: oracle.Now) -> None:
        """Expect what is due to be released, by due time."""
        dues = [(oracle.due(each, now), each.key) for each in self.of("pending")]
        for moment, key in sorted(each for each in dues if each[0] <= self.world.now):
            self.feedback[key].state = "open"
            self._expected.append((moment, key))

    def _check_released(self, released: list[Held]) -> None:
        """Check that each link's feedback came in the order of its due times.

        After a change of the plan links are asked one after the other what is due, so that one link's may
        come before what was due earlier on another.
        """
        dues = [(held.due + self.world.booted, (held.agent, held.round)) for held in released]
        for agent in range(len(self.hold.links)):
            mine = [due for due in dues if due[1][0] == agent]
            assert mine == [due for due in self._expected if due[1][0] == agent]
        self._expected.clear()
        for held in released:
            assert held.payload == self.payloads[held.agent, held.round]
            assert held.requested_delay == held.due - held.accepted
            self.bare.broker._note_sent([held])

    async def _submit(self, agent: int, s: int, payload: bytes) -> None:
        known = self.feedback.get((agent, s))
        request = pb.SubmitRequest(agent=agent, round=s, run_id=RUN_ID, payload=payload, norm=1.0)
        if (refused := self._refusal(agent, s, known, payload)) is not None:
            with pytest.raises(WireError, match=refused):
                self.bare.broker._intake.take(request)
            return
        answer, kept = self.bare.broker._intake.take(request)
        if known is None:
            self.start = self.world.now if self.start is None else self.start
        try:
            await kept
        except JournalFullError:
            assert self.full
            assert known is None
        else:
            assert (answer.agent, answer.round) == (agent, s)
            if known is None:
                self._take(answer, payload)
        await self._settle()

    def last(self, agent: int) -> int:
        """Return the last round that an agent has submitted, 0 before the first."""
        return max((s for i, s in self.feedback if i == agent), default=0)

    def _refusal(self, agent: int, s: int, known: oracle.Feedback | None, payload: bytes) -> str | None:
        """Return why a submission must be refused."""
        if s > self.last(agent) + UNANSWERED:
            return "was its last"
        if known is not None:
            held = known.state in {"pending", "open"}
            return "with another payload" if held and payload != self.payloads[known.key] else None
        pending, limits = Counter(each.agent for each in self.of("pending")), self._scenario.limits
        return "is full" if pending[agent] >= limits.link or pending.total() >= limits.all else None

    def _take(self, answer: pb.SubmitResponse, payload: bytes) -> None:
        assert not self.full
        self._unsaved.clear()
        new = oracle.Feedback(answer.agent, answer.round, self.world.now, self.faults)
        self.feedback[new.key], self.payloads[new.key] = new, payload
        assert answer.dropped == oracle.dropped(new, self.now)
        if answer.dropped:
            new.state = "dropped"
        else:
            assert answer.requested_delay == oracle.due(new, self.now) - new.accepted

    async def _edit(self, change: Callable[[Plan, Moment], Plan], then: Callable[[], oracle.Faults]) -> None:
        before = self.bare.control.plan
        try:
            await self.bare.control.apply("edit", change)
        except JournalFullError:
            assert self.full
            assert self.bare.control.plan is before
        else:
            if self.bare.control.plan is not before:
                assert not self.full
                self._unsaved.clear()
                self._expect_due(self.now)  # what was due before the change is not held by it
            self.faults = then()
        await self._settle()

    def _expect_again(self, rows: list[Row], may_come_again: set[Key]) -> None:
        """Expect all that is owed: at once if it is known to have been sent, else by the plan in force."""
        states = {(row.agent, row.round): row.state for row in rows}
        held = {key for key, state in states.items() if state < State.DONE}
        owed = {each.key for each in self.of("pending", "open")}
        assert owed <= held  # nothing is lost
        assert held - owed <= may_come_again  # a note that is lost causes redelivery, and no more
        assert states.keys() <= self.feedback.keys()
        for key in held:
            self.feedback[key].state, self.feedback[key].sent = "pending", states[key] is State.SENT
