"""What a broker holds, and what becomes of it: pure state, told the time by whoever calls.

A feedback is *pending* until it is due, then *released* until its agent acknowledges it, then forgotten but
for the answer to its submission. Nothing is released early, released feedback is handed out again until it is
acknowledged, and the bytes that come out are the bytes that went in.

When a feedback is due follows from the plan it was accepted under and the plan that is in force: a change of
the plan asks again for the links that it concerns, and rewrites nothing else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefw.core.due_queue import DueQueue
from edgefw.errors import WireError
from edgefw.problem.delay.link import Batch, Dues, latency_due, round_dues, wall_dues
from edgefw.services.broker.link import DROPPED, Held, Link
from edgefw.services.broker.plan import Moment, Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from edgefw.services.broker.limits import Limits

PLANS_KEPT = 64  # versions in memory before those that nothing was accepted under are let go


class Taken(NamedTuple):
    """The answer to a submission; `new` is false where it is a repeated one."""

    requested_delay: float
    dropped: bool
    new: bool
    rank: float = 0.0


class Arrived(NamedTuple):
    """What comes with a round, and what is acknowledged by asking for it."""

    deliveries: Sequence[Held]
    acknowledged: Sequence[int]


class Hold(ABC):
    """What is held for the agents of a plan; a clock's own class says when it is due."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        self.plan, self.limits = plan, limits
        self.links = tuple(Link(agent) for agent in range(plan.rules.agents))
        self.start: float | None = None  # the run's: that of the first submission
        self.pending = self.bytes = 0  # in all; what has been released does not count
        self.plans = {plan.version: plan}
        self._plans_kept = PLANS_KEPT

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return self.plan.rules.rounds

    @property
    def complete(self) -> bool:
        """Whether every round of every agent has been submitted."""
        return all(link.count == self.rounds for link in self.links)

    def moment(self, now: float) -> Moment:
        """Return now, in both clocks' terms."""
        return Moment(now, tuple(link.highest for link in self.links))

    def submit(self, agent: int, round_: int, payload: bytes, norm: float, now: float) -> Taken:
        """Take over the feedback of a round; one that was taken before is answered as it was then."""
        link = self.links[agent]
        if link.taken(round_):
            return self._again(link, round_, payload)
        self._check_room(link, len(payload))
        if self.start is None:
            self.start = now
        held = Held(agent, round_, payload, norm, link.rank(norm), now, self.plan.version)
        link.take(round_, norm)
        self._add(link, held)
        link.last_requested = held.requested_delay
        if round_ == self.rounds:
            self.redue(agent, now)  # "until the end" has come
        if held.round not in link.held:
            return Taken(0.0, dropped=True, new=True, rank=held.rank)
        return Taken(held.requested_delay, dropped=False, new=True, rank=held.rank)

    def withdraw(self, agent: int, s: int, now: float) -> None:
        """Undo the submission of round s: it could not be kept."""
        link = self.links[agent]
        held = link.held.get(s)
        if held is not None and s not in link.released:
            self._leaves(held)
        link.untake(s)
        if s == self.rounds:
            self.redue(agent, now)  # "until the end" is still to come

    def change(self, plan: Plan) -> list[int]:
        """Go over to another plan; return the agents to whose pending feedback it matters, for `redue`."""
        before, self.plan = self.plan, plan
        self.plans[plan.version] = plan
        self._let_plans_go()
        return [
            link.agent
            for link in self.links
            if before.later(link.agent, self.start) != plan.later(link.agent, self.start)
        ]

    def redue(self, agent: int, now: float) -> list[int]:
        """Ask again when an agent's pending feedback is due; return the rounds that are dropped by it."""
        link = self.links[agent]
        dropped: list[int] = []
        for plan, some in self._by_faults(link):
            dues = self._dues(link, plan, some, now)
            for held, due, drop in zip(some, dues.due.tolist(), dues.dropped.tolist(), strict=True):
                if held.sent:  # before a restart: it was due then, whatever the plan has become
                    self._set_due(held, min(due, self._latest(held, now)))
                elif drop:
                    dropped.append(held.round)
                else:
                    self._set_due(held, due)
        for s in dropped:
            self._leaves(link.held[s])
            link.forget(s, DROPPED)
        return dropped

    def _by_faults(self, link: Link) -> Iterable[tuple[Plan, list[Held]]]:
        """Return what waits on a link, together where it was accepted under the same faults of the link.

        Versions would not do: while the plan changes often, each feedback has another.
        """
        groups: dict[tuple[int, ...], tuple[Plan, list[Held]]] = {}
        known: dict[int, list[Held]] = {}
        for held in link.waiting():
            if held.version not in known:
                plan = self.plans[held.version]
                key = tuple(map(id, plan.own(link.agent, self.start)))
                known[held.version] = groups.setdefault(key, (plan, []))[1]
            known[held.version].append(held)
        return groups.values()

    def restore(self, held: Held) -> None:
        """Hold again what was held before a restart; `redue` says when it is due, once all is there."""
        link = self.links[held.agent]
        link.take(held.round, held.norm)
        self._count_in(link, held)

    def _add(self, link: Link, held: Held) -> None:
        due = self._due(link, held)
        if due is None:
            link.forget(held.round, DROPPED)
            return
        self._count_in(link, held)
        self._set_due(held, due)

    def _due(self, link: Link, held: Held) -> float | None:
        """Return when a feedback that has just been accepted is due; None if it is dropped."""
        dues = self._dues(link, self.plans[held.version], [held], held.accepted)
        return None if dues.dropped[0] else float(dues.due[0])

    def _count_in(self, link: Link, held: Held) -> None:
        link.held[held.round] = held
        self.pending += 1
        self.bytes += len(held.payload)

    def _leaves(self, held: Held) -> None:
        """Take a feedback out of what is pending."""
        self._queue(held.agent).remove((held.agent, held.round))
        self._count_out(held)

    def _count_out(self, held: Held) -> None:
        self.pending -= 1
        self.bytes -= len(held.payload)

    def _set_due(self, held: Held, due: float) -> None:
        held.due, held.requested_delay = due, self._requested(held, due)
        self._queue(held.agent).push((held.agent, held.round), due)

    def _again(self, link: Link, s: int, payload: bytes) -> Taken:
        held = link.held.get(s)
        if held is not None and held.payload != payload:
            raise WireError(
                "conflict", f"agent {link.agent} submitted round {s} before, with another payload"
            )
        dropped = link.dropped(s)
        return Taken(0.0 if dropped else link.requested(s), dropped, new=False)

    def _check_room(self, link: Link, size: int) -> None:
        limits = self.limits
        for name, there, most in (
            (f"the link of agent {link.agent}", link.pending + 1, limits.link),
            ("the broker", self.pending + 1, limits.all),
        ):
            if there > most:
                raise WireError("full", f"{name} is full: {most} feedbacks are pending; try again later")
        if self.bytes + size > limits.bytes:
            raise WireError("full", f"the broker is full: {self.bytes} bytes are pending; try again later")

    def _let_plans_go(self) -> None:
        if len(self.plans) > self._plans_kept:
            used = {held.version for link in self.links for held in link.held.values()}
            used.add(self.plan.version)
            self.plans = {version: plan for version, plan in self.plans.items() if version in used}
            self._plans_kept = 2 * len(self.plans) + PLANS_KEPT

    @abstractmethod
    def _dues(self, link: Link, accepted_under: Plan, some: Sequence[Held], now: float) -> Dues:
        """Return when some of a link's feedback, accepted under one plan, is due."""

    @abstractmethod
    def _latest(self, held: Held, now: float) -> float:
        """Return when a feedback that was sent before must have been due."""

    @abstractmethod
    def _requested(self, held: Held, due: float) -> float:
        """Return the delay that a due time means for a feedback."""

    @abstractmethod
    def _queue(self, agent: int) -> DueQueue:
        """Return the queue that an agent's feedback waits in."""


class WallHold(Hold):
    """Feedback held for real time. The run starts with the first submission."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        super().__init__(plan, limits)
        self._due_queue = DueQueue()

    def next_due(self) -> float | None:
        """Return when there is something to release, None if nothing that is pending has a due time."""
        due = self._due_queue.next_due()
        return None if due is None or math.isinf(due) else due

    def release(self, now: float) -> list[Held]:
        """Return what is due by now and was not yet released, in due order."""
        released = [self.links[agent].release(s) for agent, s in self._due_queue.pop_due(now)]
        for held in released:
            self._count_out(held)
        return released

    def unacknowledged(self, agent: int) -> list[Held]:
        """Return what was released and not acknowledged, in due order: a new subscription gets it again."""
        return list(self.links[agent].released.values())

    def acknowledge(self, agent: int, rounds: Iterable[int]) -> list[int]:
        """Forget rounds that the agent has, all or (an error) none; return those that were news."""
        link = self.links[agent]
        news = [s for s in dict.fromkeys(rounds) if self._to_forget(link, s)]
        for s in news:
            held = link.held[s]
            if s not in link.released:
                self._leaves(held)
            link.withdrawn.discard(s)
            link.forget(s, held.requested_delay)
        return news

    @staticmethod
    def _to_forget(link: Link, s: int) -> bool:
        if s in link.released:
            return True
        if s in link.withdrawn:  # its agent has the copy that could not be kept: no second one is needed
            return s in link.held
        if s in link.held or not link.taken(s) or link.dropped(s):
            raise WireError(
                "acknowledgement", f"agent {link.agent} acknowledges round {s}, which was never delivered"
            )
        return False

    def _due(self, link: Link, held: Held) -> float | None:
        own, later = self.plan.own(link.agent, self.start), self.plan.later(link.agent, self.start)
        usual = latency_due(own, later, held.round, held.accepted)
        return super()._due(link, held) if usual is None else usual

    def _dues(self, link: Link, accepted_under: Plan, some: Sequence[Held], now: float) -> Dues:
        start = now if self.start is None else self.start
        own, later = accepted_under.own(link.agent, start), self.plan.later(link.agent, start)
        ended, length = link.highest >= self.rounds, self.plan.rules.round_seconds
        return wall_dues(own, later, _batch(some), now=now, start=start, ended=ended, round_seconds=length)

    def _latest(self, held: Held, now: float) -> float:
        del held
        return now

    def _requested(self, held: Held, due: float) -> float:
        return max(0.0, due - held.accepted)

    def _queue(self, agent: int) -> DueQueue:
        del agent
        return self._due_queue


class RoundsHold(Hold):
    """Feedback held for a number of rounds: that of round s comes with round s + delay - 1."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        super().__init__(plan, limits)
        self._queues = tuple(DueQueue() for _ in self.links)
        self.collected = [0] * len(self.links)  # the last round that each agent has asked for

    def collect(self, agent: int, t: int) -> Arrived:
        """Return all that arrives in round t, the same however often it is asked for.

        Asking for a later round acknowledges what came with the one before.
        """
        link, last = self.links[agent], self.collected[agent]
        if t < last:
            raise WireError("order", f"agent {agent} asks for round {t} and has asked for round {last}")
        if link.floor < t:
            raise WireError(
                "order", f"agent {agent} asks for round {t} and has not submitted round {link.floor + 1}"
            )
        acknowledged = self._advance(link, t) if t > last else []
        return Arrived(list(link.released.values()), acknowledged)

    def release_again(self, agent: int) -> None:
        """Go on after a restart: the last round that was asked for may be asked for once more."""
        self._advance(self.links[agent], self.collected[agent])

    def _advance(self, link: Link, t: int) -> list[int]:
        """Forget what came with earlier rounds, release what comes with t; return what was forgotten."""
        gone = list(link.released.values())
        for held in gone:
            link.forget(held.round, held.requested_delay)
        for _, s in self._queues[link.agent].pop_due(t):
            self._count_out(link.release(s))
        self.collected[link.agent] = t
        return [held.round for held in gone]

    def _dues(self, link: Link, accepted_under: Plan, some: Sequence[Held], now: float) -> Dues:
        del now  # time does not count here
        own, later = accepted_under.own(link.agent, None), self.plan.later(link.agent, None)
        following = self.collected[link.agent] + 1
        return round_dues(own, later, _batch(some), T=self.rounds, now=following)

    def _latest(self, held: Held, now: float) -> float:
        del now
        return max(self.collected[held.agent], held.round)

    def _requested(self, held: Held, due: float) -> float:
        return due - held.round + 1

    def _queue(self, agent: int) -> DueQueue:
        return self._queues[agent]


def make_hold(plan: Plan, limits: Limits) -> Hold:
    """Return an empty hold under the plan's clock."""
    return WallHold(plan, limits) if plan.rules.clock == "wall" else RoundsHold(plan, limits)


def _batch(some: Sequence[Held]) -> Batch:
    return Batch(
        np.array([held.round for held in some], dtype=np.int64),
        np.array([held.accepted for held in some]),
        np.array([held.rank for held in some]),
    )
