"""What an algorithm is to everyone else: a class, one record made from it, and one contract for its agents.

A new algorithm is one file with its class: an `Agent` of a network, or a `Learner` for a lone one, made from
`Parts` and whatever parameters of its own it takes. One that is built in has a line in `core/agent.py`; any
other is named in a scenario by its place, `my_pkg.mod:Momentum` (see `edgefw.plugins`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from edgefw.core.messages import Feedback, Frame, Play
from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgefw.core.oracle import Oracle
    from edgefw.core.schedule import Steps
    from edgefw.problem.feasible import FeasibleSet
    from edgefw.problem.feasible.base import Real

Count = int | Literal["each"]
"""How many of something there are in a round: a number, or one for each of its K sub-iterations."""

State = Mapping[str, NDArray[Any]]
"""All that an algorithm has learned, by name."""


@runtime_checkable
class Savable(Protocol):
    """An algorithm that can go on in another process: an agent that is killed comes back as it was.

    Both are called between two rounds only. One that has neither plays all the same; but when its agent dies,
    the run is over.
    """

    def save(self) -> State:
        """Return what it has learned; the arrays may be its own, for they are written down at once."""
        ...

    def load(self, state: State) -> None:
        """Become, new as it is, the one that saved this; the arrays are read-only."""
        ...


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
    oracle: Callable[[int], Oracle]  # K new ones; copy c of a pool draws its noise as if it were agent c
    copy: int = 0  # of a pool

    @property
    def neighbours(self) -> tuple[int, ...]:
        """N(i), sorted."""
        return tuple(sorted(j for j in self.weights if j != self.agent))

    @property
    def start(self) -> Real:
        """x_{t,1}, (C, m), which every round starts from."""
        return self.feasible.start().astype(self.dtype)


@dataclass(frozen=True)
class AlgorithmRecord:
    """All there is to know about an algorithm before it runs; all but its name is from its class.

    - distributed: whether it is for a network; others are for a lone learner.
    - frames: how many an agent sends to each neighbour in a sweep (`exchanges` of the class); `arrays` are in
      each: an iterate, and perhaps a tracker.
    - points: at how many of a round it asks for the gradient (`queries` of the class).
    - under_delay: what to use in its place where feedback is late; None where it can be late.
    - vectorised: the class, package.module:Class, that plays all its agents as arrays; None where there is
      none, and a simulation plays agent by agent.
    - savable: whether its agents can be saved and loaded, see `Savable`.
    """

    name: str
    kind: Callable[..., Any]
    distributed: bool
    frames: Count
    arrays: int
    points: Count
    under_delay: str | None
    vectorised: str | None
    savable: bool = False

    def exchanges(self, K: int) -> int:
        """Return how many frames an agent sends to each neighbour in a sweep."""
        return K if self.frames == "each" else self.frames

    def queries(self, K: int) -> int:
        """Return at how many points of a round the algorithm asks for the gradient."""
        return K if self.points == "each" else self.points

    def make(self, parts: Parts, params: Mapping[str, Any]) -> Agent:
        """Put an agent together."""
        made = self.kind(parts, **params)
        if not self.distributed:
            return Alone(made, parts)
        for attribute in Agent.__annotations__:
            if not hasattr(made, attribute):
                raise InputError(
                    f"algorithm {self.name!r}: an agent has no attribute {attribute}: set it in __init__"
                )
        agent: Agent = made
        return agent


def record_of(name: str, kind: type[Any]) -> AlgorithmRecord:
    """Return the record of an algorithm, given its class: what it does not say is 1, and None."""
    distributed = _is_distributed(name, kind)
    _check_made_of_parts(name, kind)
    return AlgorithmRecord(
        name=name,
        kind=kind,
        distributed=distributed,
        frames=_count(name, kind, "exchanges"),
        arrays=getattr(kind, "arrays", 1),
        points=_count(name, kind, "queries"),
        under_delay=getattr(kind, "under_delay", None),
        vectorised=vars(kind).get("vectorised"),  # of the class itself: a subclass may play otherwise
        savable=_is_savable(name, kind),
    )


def _check_made_of_parts(name: str, kind: type[Any]) -> None:
    try:
        signature(kind).bind_partial(None)
    except TypeError:
        raise InputError(
            f"algorithm {name!r}: {kind.__name__} takes no Parts: write __init__(self, parts)"
        ) from None


def _is_distributed(name: str, kind: type[Any]) -> bool:
    contracts = {True: ("start_sweep", "advance"), False: ("play", "update")}
    for distributed, methods in contracts.items():
        missing = [method for method in methods if not callable(getattr(kind, method, None))]
        if not missing:
            return distributed
        if len(missing) < len(methods):
            raise InputError(f"algorithm {name!r}: {kind.__name__} has no method {missing[0]}: write it")
    raise InputError(
        f"algorithm {name!r}: {kind.__name__} is no algorithm: give it start_sweep and advance (an agent of "
        "a network), or play and update (a lone learner)"
    )


def _is_savable(name: str, kind: type[Any]) -> bool:
    missing = [method for method in ("save", "load") if not callable(getattr(kind, method, None))]
    if len(missing) == 1:
        raise InputError(f"algorithm {name!r}: {kind.__name__} has no method {missing[0]}: write it")
    return not missing


def _count(name: str, kind: type[Any], what: str) -> Count:
    found: Any = getattr(kind, what, 1)
    if found != "each" and not (type(found) is int and found > 0):
        raise InputError(
            f"algorithm {name!r}: {kind.__name__}.{what} is {found!r}: it must be a number above 0, or 'each'"
        )
    count: Count = found
    return count


class Alone:
    """A learner of the centralized setting, as an agent without neighbours."""

    neighbours: tuple[int, ...] = ()

    def __init__(self, learner: Learner, parts: Parts) -> None:
        self.agent, self.applied = 0, 0
        self.learner = learner
        self._start = parts.feasible.start()
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

    def save(self) -> State:
        """Return what the learner has learned, and how much feedback it was given."""
        assert isinstance(self.learner, Savable)  # noqa: S101 - whoever asks has looked at its record
        return {**self.learner.save(), _APPLIED: np.array(self.applied)}

    def load(self, state: State) -> None:
        """Give the learner back what it has learned."""
        assert isinstance(self.learner, Savable)  # noqa: S101 - likewise
        self.applied = int(state[_APPLIED])
        self.learner.load({name: array for name, array in state.items() if name != _APPLIED})


_APPLIED = "feedback applied"
