"""What a broker holds, and what becomes of it: pure state, told the time by whoever calls.

A feedback is *pending* until it is due, then *released* until its agent acknowledges it, then forgotten but
for the answer to its submission. Nothing is released early, released feedback is handed out again until it is
acknowledged, and the bytes that come out are the bytes that went in.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from edgefw.core.due_queue import DueQueue
from edgefw.errors import WireError
from edgefw.problem.delay import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from edgefw.problem.delay import DelayPlan

_UNKNOWN = math.nan  # in place of a requested delay: nothing was submitted
_NEVER = math.inf  # ... submitted, never to be delivered


@dataclass(slots=True)
class Held:
    """A feedback in the broker's hands. `due` is a moment of the clock, or a round."""

    agent: int
    round: int
    payload: bytes
    norm: float
    submitted: float
    due: float
    requested_delay: float
    sent: bool = False


class Taken(NamedTuple):
    """The answer to a submission; `new` is false where it is a repeated one."""

    requested_delay: float
    dropped: bool
    new: bool


class Arrived(NamedTuple):
    """What comes with a round, and how much of what came before is acknowledged by asking for it."""

    deliveries: Sequence[Held]
    acknowledged: int


class Link:
    """One agent's feedback; entries in order of submission, and of release."""

    def __init__(self, agent: int) -> None:
        self.agent = agent
        self.held: dict[int, Held] = {}
        self.released: dict[int, Held] = {}
        self.count = 0  # feedback taken over so far
        self._requested = array("d", [_UNKNOWN])  # by round: what remains of a feedback that is done

    @property
    def pending(self) -> int:
        """How many are not due yet."""
        return len(self.held) - len(self.released)

    @property
    def oldest(self) -> float | None:
        """When the oldest that is held was submitted."""
        return next((held.submitted for held in self.held.values()), None)

    def requested(self, s: int) -> float:
        """Return the delay given to round s: NaN before it is submitted, infinite if it never comes."""
        return self._requested[s] if s < len(self._requested) else _UNKNOWN

    def note(self, s: int, requested: float) -> None:
        """Keep the delay of round s for good."""
        self._requested.extend([_UNKNOWN] * (s + 1 - len(self._requested)))
        self._requested[s] = requested
        self.count += 1

    def first_missing(self, t: int) -> int | None:
        """Return the first of rounds 1..t that has not been submitted."""
        if self.count >= t and len(self._requested) == self.count + 1:
            return None  # rounds 1..count without a gap: the usual case
        return next((s for s in range(1, t + 1) if math.isnan(self.requested(s))), None)

    def release(self, s: int) -> Held:
        """Turn a pending feedback into a released one."""
        held = self.released[s] = self.held[s]
        return held

    def forget(self, s: int) -> None:
        """Let go of a released feedback that its agent has."""
        del self.released[s], self.held[s]


class Hold(ABC):
    """What is held for agents 0..agents-1 in a run of `rounds`; a clock's own class says when it is due."""

    def __init__(self, agents: int, rounds: int) -> None:
        self.rounds = rounds
        self.links = tuple(Link(agent) for agent in range(agents))

    @property
    def complete(self) -> bool:
        """Whether every round of every agent has been submitted."""
        return all(link.count == self.rounds for link in self.links)

    def submit(self, agent: int, round_: int, payload: bytes, norm: float, now: float) -> Taken:
        """Take over the feedback of a round; one that was taken before is answered as it was then."""
        link = self.links[agent]
        if not math.isnan(link.requested(round_)):
            return self._again(link, round_, payload)
        due, requested = self._due(agent, round_, now)
        link.note(round_, requested)
        if due is None:
            return Taken(0.0, dropped=True, new=True)
        held = Held(agent, round_, payload, norm, now, due, requested)
        link.held[round_] = held
        self._enqueue(held)
        return Taken(requested, dropped=False, new=True)

    def _again(self, link: Link, s: int, payload: bytes) -> Taken:
        held, requested = link.held.get(s), link.requested(s)
        if held is not None and held.payload != payload:
            raise WireError(
                "conflict", f"agent {link.agent} submitted round {s} before, with another payload"
            )
        dropped = requested == _NEVER
        return Taken(0.0 if dropped else requested, dropped, new=False)

    @abstractmethod
    def _due(self, agent: int, s: int, now: float) -> tuple[float | None, float]:
        """Return when round s is due (None: never) and the delay that is requested (infinite: never)."""

    @abstractmethod
    def _enqueue(self, held: Held) -> None:
        """Wait for it to come due."""


class DueTimes(Protocol):
    """Says when a feedback is due by the wall clock, None if it never is; `WallPlan` is one."""

    def due(self, agent: int, s: int, submitted: float, start: float) -> float | None:
        """Return the moment at which it is due; `start` is that of the run."""


class WallHold(Hold):
    """Feedback held for real time. The run starts with the first submission."""

    def __init__(self, agents: int, rounds: int, plan: DueTimes) -> None:
        super().__init__(agents, rounds)
        self._plan, self._queue = plan, DueQueue()
        self.start: float | None = None

    def next_due(self) -> float | None:
        """Return when there is something to release, None if nothing is pending."""
        return self._queue.next_due()

    def release(self, now: float) -> list[Held]:
        """Return what is due by now and was not yet released, in due order."""
        return [self.links[agent].release(s) for agent, s in self._queue.pop_due(now)]

    def unacknowledged(self, agent: int) -> list[Held]:
        """Return what was released and not acknowledged, in due order: a new subscription gets it again."""
        return list(self.links[agent].released.values())

    def acknowledge(self, agent: int, rounds: Iterable[int]) -> int:
        """Forget rounds that the agent has; return how many were news. All of them, or an error and none."""
        link = self.links[agent]
        news = [s for s in dict.fromkeys(rounds) if self._to_forget(link, s)]
        for s in news:
            link.forget(s)
        return len(news)

    @staticmethod
    def _to_forget(link: Link, s: int) -> bool:
        if s in link.released:
            return True
        if s in link.held or not math.isfinite(link.requested(s)):
            raise WireError(
                "acknowledgement", f"agent {link.agent} acknowledges round {s}, which was never delivered"
            )
        return False

    def _due(self, agent: int, s: int, now: float) -> tuple[float | None, float]:
        if self.start is None:
            self.start = now
        due = self._plan.due(agent, s, now, self.start)
        return due, _NEVER if due is None else due - now

    def _enqueue(self, held: Held) -> None:
        self._queue.push((held.agent, held.round), held.due)


class RoundsHold(Hold):
    """Feedback held for a number of rounds: that of round s comes with round s + delay - 1."""

    def __init__(self, agents: int, rounds: int, plan: DelayPlan) -> None:
        super().__init__(agents, rounds)
        self._plan = plan
        self._queues = tuple(DueQueue() for _ in range(agents))
        self._collected = [0] * agents

    def collect(self, agent: int, t: int) -> Arrived:
        """Return all that arrives in round t, the same however often it is asked for.

        Asking for a later round acknowledges what came with the one before.
        """
        link, last = self.links[agent], self._collected[agent]
        if t < last:
            raise WireError("order", f"agent {agent} asks for round {t} and has asked for round {last}")
        if (missing := link.first_missing(t)) is not None:
            raise WireError(
                "order", f"agent {agent} asks for round {t} and has not submitted round {missing}"
            )
        acknowledged = self._advance(link, t) if t > last else 0
        return Arrived(list(link.released.values()), acknowledged)

    def _advance(self, link: Link, t: int) -> int:
        """Forget what came with earlier rounds, release what comes with t; return how many were forgotten."""
        gone = list(link.released)
        for s in gone:
            link.forget(s)
        for _, s in self._queues[link.agent].pop_due(t):
            link.release(s)
        self._collected[link.agent] = t
        return len(gone)

    def _due(self, agent: int, s: int, now: float) -> tuple[float | None, float]:  # noqa: ARG002
        delay = int(self._plan.delays(agent, range(s, s + 1), T=self.rounds)[0])
        return (None, _NEVER) if delay >= NEVER else (float(s + delay - 1), float(delay))

    def _enqueue(self, held: Held) -> None:
        self._queues[held.agent].push((held.agent, held.round), held.due)
