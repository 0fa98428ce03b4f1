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

from edgefw.delays.dues import Dues, Messages, round_dues, steady_due, wall_dues
from edgefw.delays.entry import Moment
from edgefw.delays.link import DONE, DROPPED, Held, Link
from edgefw.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from edgefw.delays.due_queue import Key
    from edgefw.delays.limits import Capacity
    from edgefw.delays.plan import Faults, Plan


class Taken(NamedTuple):
    """The answer to a submission; `new` is false where it is a repeated one.

    `others` are rounds of the same link that are dropped from now on.
    """

    requested_delay: float
    dropped: bool
    new: bool
    rank: float = 0.0
    others: tuple[int, ...] = ()


class Arrived(NamedTuple):
    """What comes with a round, and what is acknowledged by asking for it."""

    deliveries: Sequence[Held]
    acknowledged: Sequence[int]


class Hold(ABC):
    """What is held for the agents of a plan; a clock's own class says when it is due."""

    def __init__(self, plan: Plan, limits: Capacity) -> None:
        self.plan, self.limits = plan, limits
        self.links = tuple(Link(agent) for agent, _ in enumerate(plan.rules.links))
        self.start: float | None = None  # the run's: that of the first submission
        self.pending = 0  # in all; what has been released does not count
        self.bytes = 0  # of all that is held, released or not: so much memory is taken

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
        return Moment(now, tuple([link.highest for link in self.links]))

    def submit(self, agent: int, round_: int, payload: bytes, norm: float, now: float) -> Taken:
        """Take over the feedback of a round. A repeated submission gets the answer of the first one."""
        link = self.links[agent]
        if link.taken(round_):
            return self._again(link, round_, payload)
        self._check_room(link, len(payload))
        if self.start is None:
            self.start = now
        own, later = self.plan.acting(agent, self.start)
        held = Held(agent, round_, payload, norm, link.rank(norm), now, self.plan.version, own)
        link.take(round_, norm)
        due = self._due(link, held, later)
        if due is None and round_ in link.withdrawn:
            due = self._latest(held, now)  # its agent may have the copy that could not be kept
        if due is None:
            link.forget(round_, DROPPED)
        else:
            self._count_in(link, held)
            held.due = due
            link.queue.push((agent, round_), due)
        link.last_requested = held.requested_delay
        others = tuple(s for s in self._end_moved(agent, round_, now) if s != round_)
        if dropped := round_ not in link.held:
            link.refuse(round_)
        return Taken(0.0 if dropped else held.requested_delay, dropped, True, held.rank, others)

    def withdraw(self, agent: int, s: int, now: float) -> list[int]:
        """Undo the submission of round s: it could not be kept. Return the rounds that are dropped by it."""
        link = self.links[agent]
        held = link.held.get(s)
        if held is not None:
            self._count_out(link, held)
        link.untake(s)
        return self._end_moved(agent, s, now)

    def _end_moved(self, agent: int, s: int, now: float) -> list[int]:
        """Ask again when feedback is due if s is the last round: that round decides when the run ends."""
        return self.redue(agent, now) if s == self.rounds else []

    def change(self, plan: Plan) -> list[int]:
        """Go over to another plan. Return the agents whose pending feedback it concerns, for `redue`."""
        before, self.plan = self.plan, plan
        return plan.other_links(before)

    def next_due_of(self, agent: int) -> float | None:
        """Return when a link's next feedback is due: infinite if that is not known, None if there is none."""
        return self.links[agent].queue.next_due()

    def redue(self, agent: int, now: float) -> list[int]:
        """Ask again when an agent's pending feedback is due; return the rounds that are dropped by it."""
        link = self.links[agent]
        dropped: list[int] = []
        moved: list[tuple[float, Key]] = []
        for own, some in link.by_faults().items():
            dues = self._dues(link, own, some, now)
            for held, due, drop in zip(some, dues.due.tolist(), dues.dropped.tolist(), strict=True):
                if _was_given_out(link, held, drop=drop):  # it was due then, whatever the plan has become
                    held.due = min(due, self._latest(held, now))
                elif drop:
                    dropped.append(held.round)
                    continue
                else:
                    held.due = due
                moved.append((held.due, (agent, held.round)))
        link.queue.push_all(moved)
        for s in dropped:
            self._forget(link, s, DROPPED)
        return dropped

    def restore(self, held: Held, accepted_under: Plan) -> None:
        """Hold again what was held before a restart; `redue` says when it is due, once all is there."""
        link = self.links[held.agent]
        held.own = accepted_under.own(held.agent, self.start)
        link.take(held.round, held.norm)
        self._count_in(link, held)

    def _due(self, link: Link, held: Held, later: Faults) -> float | None:
        """Return when a feedback that has just been accepted is due; None if it is dropped."""
        del later  # for who can do with less than all that `_dues` does
        dues = self._dues(link, held.own, [held], held.accepted)
        return None if dues.dropped[0] else float(dues.due[0])

    def _count_in(self, link: Link, held: Held) -> None:
        link.held[held.round] = held
        held.origin = self._origin(held)
        self.pending += 1
        self.bytes += len(held.payload)

    def _count_out(self, link: Link, held: Held) -> None:
        self.bytes -= len(held.payload)
        if held.round not in link.released:
            link.queue.remove((held.agent, held.round))
            self.pending -= 1

    def _forget(self, link: Link, s: int, requested: float | None = None) -> None:
        """Let go of a feedback: its agent has it, or (`requested` is DROPPED) will never get it."""
        held = link.held[s]
        self._count_out(link, held)
        if requested is None:  # a copy may be acknowledged while nobody knows when this one is due
            requested = DONE if math.isinf(held.due) else held.requested_delay
        link.forget(s, requested)

    def _release(self, link: Link, s: int) -> Held:
        """Release what has been taken out of its queue."""
        self.pending -= 1
        return link.release(s)

    def _again(self, link: Link, s: int, payload: bytes) -> Taken:
        held = link.held.get(s)
        if held is not None and held.payload != payload:
            raise WireError(
                "conflict", f"agent {link.agent} submitted round {s} before, with another payload"
            )
        refused = link.refused(s)  # what was dropped later is told where it would have been delivered
        return Taken(0.0 if refused else link.requested(s), refused, new=False)

    def _check_room(self, link: Link, size: int) -> None:
        limits, name = self.limits, ""
        if link.pending >= limits.link:
            name, most = f"the link of agent {link.agent}", limits.link
        elif self.pending >= limits.all:
            name, most = "the broker", limits.all
        if name:
            raise WireError("full", f"{name} is full: {most} feedbacks are pending; try again later")
        if self.bytes + size > limits.bytes:
            raise WireError("full", f"the broker is full: {self.bytes} bytes are held; try again later")

    @abstractmethod
    def _dues(self, link: Link, own: Faults, some: Sequence[Held], now: float) -> Dues:
        """Return when some of a link's feedback, accepted under the same faults, is due."""

    @abstractmethod
    def _latest(self, held: Held, now: float) -> float:
        """Return when a feedback that was given out before must have been due."""

    @abstractmethod
    def _origin(self, held: Held) -> float:
        """Return what the delay of a feedback is counted from."""


class WallHold(Hold):
    """Feedback held for real time. The run starts with the first submission."""

    def next_due(self) -> float | None:
        """Return when there is something to release, None if nothing that is pending has a due time."""
        known = (due for link in self.links if (due := link.queue.next_due()) is not None)
        due = min(known, default=math.inf)
        return None if math.isinf(due) else due

    def release(self, now: float) -> list[Held]:
        """Return what is due by now and was not yet released, in due order."""
        keys = [key for link in self.links for key in link.queue.pop_due(now)]
        due = sorted((self.links[agent].held[s] for agent, s in keys), key=_by_due)
        for held in due:
            self._release(self.links[held.agent], held.round)
        return due

    def unacknowledged(self, agent: int) -> list[Held]:
        """Return what was released and not acknowledged, in due order: a new subscription gets it again."""
        return list(self.links[agent].released.values())

    def acknowledge(self, agent: int, rounds: Iterable[int]) -> list[int]:
        """Forget rounds that the agent has: all, or none and an error. Return those not forgotten before."""
        link = self.links[agent]
        news = [s for s in dict.fromkeys(rounds) if self._to_forget(link, s)]
        for s in news:
            self._forget(link, s)
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

    def _due(self, link: Link, held: Held, later: Faults) -> float | None:
        usual = steady_due(held.own, later, held.round, held.accepted)
        return super()._due(link, held, later) if usual is None else usual

    def _dues(self, link: Link, own: Faults, some: Sequence[Held], now: float) -> Dues:
        start = now if self.start is None else self.start
        later = self.plan.later(link.agent, start)
        ended = link.highest >= self.rounds
        return wall_dues(own, later, _messages(some), self.plan.rules, now=now, start=start, ended=ended)

    def _latest(self, held: Held, now: float) -> float:
        del held
        return now

    def _origin(self, held: Held) -> float:
        return held.accepted


class RoundsHold(Hold):
    """Feedback held for a number of rounds: that of round s comes with round s + delay - 1."""

    def __init__(self, plan: Plan, limits: Capacity) -> None:
        super().__init__(plan, limits)
        self.collected = [0] * len(self.links)  # the last round that each agent has asked for

    def catch_up(self, agent: int, t: int, now: float) -> list[int]:
        """Go on from where an agent is that asked for round t before a restart, which was not noted.

        What came with it is not known: all that is held comes later, once more or for the first time. Return
        the rounds that are dropped by it.
        """
        if self.collected[agent] >= t or self.links[agent].floor < t:
            return []
        self.collected[agent] = t
        return self.redue(agent, now)

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

    def hold_again(self, held: Held) -> None:
        """Hold again what was given out: it may not have been. `redue` says with which round it comes."""
        link = self.links[held.agent]
        if link.released.pop(held.round, None) is not None:
            self.pending += 1
        elif held.round not in link.held:
            self._count_in(link, held)
            link.held = dict(sorted(link.held.items()))  # by round, as they were submitted

    def release_again(self, agent: int) -> None:
        """Go on after a restart: the last round that was asked for may be asked for once more."""
        self._advance(self.links[agent], self.collected[agent])

    def _advance(self, link: Link, t: int) -> list[int]:
        """Forget what came with earlier rounds, release what comes with t; return what was forgotten."""
        gone = list(link.released)
        for s in gone:
            self._forget(link, s)
        for _, s in link.queue.pop_due(t):
            self._release(link, s)
        self.collected[link.agent] = t
        return gone

    def _dues(self, link: Link, own: Faults, some: Sequence[Held], now: float) -> Dues:
        del now  # time does not count here
        later = self.plan.later(link.agent, self.start)
        following = self.collected[link.agent] + 1
        return round_dues(own, later, _messages(some), self.plan.rules, now=following)

    def _latest(self, held: Held, now: float) -> float:
        del now
        return max(self.collected[held.agent], held.round)

    def _origin(self, held: Held) -> float:
        return held.round - 1


def make_hold(plan: Plan, limits: Capacity) -> Hold:
    """Return an empty hold under the plan's clock."""
    return WallHold(plan, limits) if plan.rules.clock == "wall" else RoundsHold(plan, limits)


def _was_given_out(link: Link, held: Held, *, drop: bool) -> bool:
    """Whether a feedback has been with its agent: before a restart, or as a copy that could not be kept.

    Of the latter there will be another one in its own time; it is not dropped any more.
    """
    return held.sent or (drop and held.round in link.withdrawn)


def _by_due(held: Held) -> tuple[float, int, int]:
    return held.due, held.agent, held.round


def _messages(some: Sequence[Held]) -> Messages:
    return Messages(
        np.array([held.round for held in some], dtype=np.int64),
        np.array([held.accepted for held in some]),
        np.array([held.rank for held in some]),
    )
