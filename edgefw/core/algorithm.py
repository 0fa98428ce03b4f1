"""What an algorithm is to everyone else: one record, and one contract for its agents.

A new algorithm is one file with its class and its record, and a line in `core/agent.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from edgefw.core.messages import Feedback, Frame, Play

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from edgefw.core.oracle import Oracle
    from edgefw.core.schedule import Steps
    from edgefw.problem.feasible import FeasibleSet

Count = Callable[[int], int]
"""How many of something there are in a round of K sub-iterations."""


def each(K: int) -> int:
    """One a sub-iteration."""
    return K


def once(K: int) -> int:  # noqa: ARG001 - however many there are
    """One a round."""
    return 1


class Agent(Protocol):
    """One agent of any algorithm; see `de2mfw` for the theory of operation."""

    agent: int
    neighbours: tuple[int, ...]
    applied: int

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Take F_{t-1} and begin round t; return the frame (t, 1)."""
        ...

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        """Take every neighbour's frame (t, k); return the frame (t, k+1) or the play."""
        ...


class Learner(Protocol):
    """A learner of the centralized setting, driven in rounds t = 1, 2, ..."""

    def play(self, t: int) -> Play:
        """Return the decision of round t."""
        ...

    def update(self, t: int, arrivals: Sequence[Feedback]) -> None:
        """Take F_t, the feedback that arrives at the end of round t; it may be empty."""
        ...


@dataclass(frozen=True)
class Parts:
    """What an agent is put together from."""

    agent: int
    weights: Mapping[int, float]  # w_ij for the agent itself and every neighbour j
    feasible: FeasibleSet
    steps: Steps  # eta_1..eta_K
    zeta: float
    dtype: np.dtype[Any]
    oracle: Callable[
        [int], Oracle
    ]  # K new oracles; copy c of a pool draws its fixed noise as if it were agent c


@dataclass(frozen=True)
class Algorithm:
    """All there is to know about an algorithm before it runs.

    - make: puts an agent together.
    - distributed: whether it is for a network; others are for a lone learner.
    - exchanges: how many frames an agent sends to each neighbour in a sweep; `arrays` are in each.
    - queries: at how many points of a round it asks for the gradient: `each` sub-iterate, or `once`, at the
      play.
    - under_delay: what to use in its place where feedback is late; None where it can be late.
    """

    name: str
    make: Callable[[Parts], Agent]
    distributed: bool = False
    exchanges: Count = once
    arrays: int = 1
    queries: Count = each
    under_delay: str | None = None


class Alone:
    """A learner of the centralized setting, as an agent without neighbours."""

    neighbours: tuple[int, ...] = ()

    def __init__(self, learner: Learner, feasible: FeasibleSet) -> None:
        self.agent, self.applied = 0, 0
        self.learner = learner
        self._start = feasible.start()
        self._t = 0

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Let the learner take F_{t-1}."""
        if t > 1:
            self.learner.update(t - 1, arrivals)
        self.applied += len(arrivals)
        self._t = t
        return Frame(self.agent, t, 1, self._start, None)

    def advance(self, frames: Mapping[int, Frame]) -> Play:  # noqa: ARG002 - there are none
        """Let the learner play round t."""
        return self.learner.play(self._t)


def alone(learner: Callable[[Parts], Learner]) -> Callable[[Parts], Agent]:
    """Return what makes an agent of a centralized algorithm, given what makes its learner."""
    return lambda parts: Alone(learner(parts), parts.feasible)
