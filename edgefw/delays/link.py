"""One agent's feedback in the broker's hands: pending, released, done. Pure state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.delays.due_queue import DueQueue
from edgefw.delays.ranking import Ranking

if TYPE_CHECKING:
    from edgefw.delays.plan import Faults

DONE, DROPPED = 0.0, math.inf
RECENT = 1024  # rounds for which a repeated submission is answered in full


@dataclass(slots=True)
class Held:
    """A feedback that is held. `accepted` and `due` are moments of the clock, or rounds."""

    agent: int
    round: int
    payload: bytes
    norm: float
    rank: float  # the share of its link's last norms that are smaller
    accepted: float
    version: int  # of the plan that it was accepted under,
    own: Faults = ()  # and the faults of that plan that stick to it
    due: float = math.inf
    sent: bool = False
    origin: float = 0.0  # what the requested delay is counted from: `accepted`, or the round before its own

    @property
    def requested_delay(self) -> float:
        """Its delay by its due time; infinite while no due time is known."""
        return max(0.0, self.due - self.origin)


class Link:
    """The feedback of one agent; held in order of submission, released in order of release."""

    def __init__(self, agent: int) -> None:
        self.agent = agent
        self.queue = DueQueue()  # of what is pending
        self.held: dict[int, Held] = {}
        self.released: dict[int, Held] = {}
        self.withdrawn: set[int] = set()  # handed out, then not kept: its agent may have it, and say so
        self.lost = 0  # feedback that was dropped
        self.last_requested: float | None = None  # the delay of what was accepted last
        self.floor = 0  # rounds 1..floor have all been taken
        self.highest = 0
        self._beyond: set[int] = set()  # rounds taken above a gap
        self._recent: dict[int, float] = {}  # requested delays of rounds that are not held any more
        self._refused: set[int] = set()  # those of them that were dropped as they were taken
        self._ranking = Ranking()

    @property
    def count(self) -> int:
        """How many feedbacks have been taken over."""
        return self.floor + len(self._beyond)

    @property
    def delivered(self) -> int:
        """How many are done: their agent has them."""
        return self.count - len(self.held) - self.lost

    @property
    def pending(self) -> int:
        """How many are not due yet."""
        return len(self.held) - len(self.released)

    @property
    def oldest(self) -> float | None:
        """When the oldest that is held was accepted."""
        return next((held.accepted for held in self.held.values()), None)

    def by_faults(self) -> dict[Faults, list[Held]]:
        """Return what is pending, grouped by the faults that it was accepted under."""
        groups: dict[Faults, list[Held]] = {}
        for held in self.waiting():
            groups.setdefault(held.own, []).append(held)
        return groups

    def waiting(self) -> list[Held]:
        """Return what is pending, in order of submission."""
        return [held for s, held in self.held.items() if s not in self.released]

    def taken(self, s: int) -> bool:
        """Whether round s has been submitted."""
        return s <= self.floor or s in self._beyond

    def requested(self, s: int) -> float:
        """Return the delay that was asked for round s, which has been taken; infinite if it was dropped."""
        held = self.held.get(s)
        return self._recent.get(s, DONE) if held is None else held.requested_delay

    def dropped(self, s: int) -> bool:
        """Whether round s was taken and will never be delivered."""
        return s not in self.held and self._recent.get(s) == DROPPED

    def refused(self, s: int) -> bool:
        """Whether round s was dropped as it was taken: that is on disk with it, and may be promised."""
        return s in self._refused

    def gone(self, s: int) -> bool:
        """Whether round s was taken and is not held any more: who has not got it by now never will."""
        return self.taken(s) and s not in self.held

    def rank(self, norm: float) -> float:
        """Return the share of the link's last norms that are smaller; 0 where there are none."""
        return self._ranking.rank(norm)

    def take(self, s: int, norm: float) -> None:
        """Note that round s has been taken."""
        self._ranking.add(s, norm)
        self._beyond.add(s)
        self.highest = max(self.highest, s)
        while self.floor + 1 in self._beyond:
            self.floor += 1
            self._beyond.remove(self.floor)

    def untake(self, s: int) -> None:
        """Undo `take` of a round that could not be kept; it is always a recent one."""
        if s <= self.floor:
            self._beyond |= set(range(s + 1, self.floor + 1))
            self.floor = s - 1
        self._beyond.discard(s)
        self._ranking.remove(s)
        self.highest = max(self._beyond, default=self.floor)
        over = self._recent.pop(s, None)
        self.lost -= over == DROPPED
        self._refused.discard(s)
        self.held.pop(s, None)
        if self.released.pop(s, None) is not None or over not in {None, DROPPED}:  # acknowledged already
            self.withdrawn.add(s)

    def release(self, s: int) -> Held:
        """Turn a pending feedback into a released one."""
        held = self.released[s] = self.held[s]
        return held

    def forget(self, s: int, requested: float) -> None:
        """Let go of a feedback that its agent has, or that it will never get (DROPPED)."""
        self.held.pop(s, None)
        self.released.pop(s, None)
        self._recent[s] = requested
        self.lost += requested == DROPPED
        if len(self._recent) > RECENT:
            oldest = next(iter(self._recent))
            del self._recent[oldest]
            self._refused.discard(oldest)

    def refuse(self, s: int) -> None:
        """Note that round s, which is dropped, never was anything else: its agent is told so."""
        self._refused.add(s)

    def restore(self, floor: int) -> None:
        """Begin with rounds 1..floor taken and done."""
        self.floor = self.highest = floor
