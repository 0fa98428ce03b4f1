"""One of each kind that is wrong in one way each: what the shipped checks have to find."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from edgefw_momentum import Momentum
from strangers import Huber, Range, Sensors, Weibull

from edgefw.problem.dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgefw.core.algorithm import Parts, State
    from edgefw.core.messages import Feedback, Frame, Play
    from edgefw.delays.fault import Rules, Seen, Window
    from edgefw.problem.feasible.base import Real
    from edgefw.problem.loss import Constants, Labels

_counter = itertools.count()


class Escapes(Momentum):
    """Does not project."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._feasible = _Anywhere(parts.feasible)  # type: ignore[assignment]


class _Anywhere:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def project(self, x: Real) -> Real:
        return 10 * x + 1


class Deaf(Momentum):
    """Learns nothing."""

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Count arrivals, and forget them."""
        frame = super().start_sweep(t, [])
        self.applied += len(arrivals)
        return frame


class Amnesiac(Momentum):
    """Saves a part of what it has learned."""

    def save(self) -> State:
        """Forget the momentum."""
        return {**super().save(), "v": 0 * self._v}


class Forgetful(Momentum):
    """Does not count."""

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Take arrivals."""
        frame = super().start_sweep(t, arrivals)
        self.applied = 0
        return frame


class Moody(Momentum):
    """Plays otherwise each time."""

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Count all sweeps there have been in this process."""
        self._v = self._v + 1e-3 * next(_counter)
        return super().start_sweep(t, arrivals)


class Hasty(Momentum):
    """Takes what comes first for more."""

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Take the first twice."""
        frame = super().start_sweep(t, arrivals)
        if arrivals:
            self._v = self._v + arrivals[0].gradient(0)
        return frame


class Writes(Momentum):
    """Writes to what neighbours sent."""

    def advance(self, frames: Mapping[int, Frame]) -> Play:
        """Spoil the frames."""
        for frame in frames.values():
            frame.iterate[:] = 0
        return super().advance(frames)


class Rewrites(Momentum):
    """Changes a play after it was given out."""

    def advance(self, frames: Mapping[int, Frame]) -> Play:
        """Move the last play."""
        last = self._x
        play = super().advance(frames)
        last += 1e-3
        return play


class Elsewhere(Momentum):
    """Keeps its state where no copy of it reaches."""

    memory: dict[tuple[int, int], NDArray[Any]] = {}  # noqa: RUF012 - that is what is wrong

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Take the velocity from the class, by the identity of the agent."""
        key = id(self), self.agent
        self._v = self.memory.get(key, np.zeros_like(self._v)) if t > 1 else np.zeros_like(self._v)
        frame = super().start_sweep(t, arrivals)
        self.memory[key] = self._v
        return frame


class Talkative(Momentum):
    """Announces two exchanges, has one."""

    exchanges = 2


class Curious(Momentum):
    """Announces a gradient at each sub-iterate, asks for one."""

    queries = "each"


class NotOptimal(Range):
    """Its lmo looks the wrong way."""

    def vertex(self, direction: Real) -> Real:
        """Return the worst vertex."""
        return super().vertex(-direction)


class NotNearest(Range):
    """Projects onto a smaller set."""

    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x.clip(0, self.radius / 2)


class TooSmall(Range):
    """Says that it is smaller than it is."""

    @property
    def diameter(self) -> float:
        """Return half of it."""
        return super().diameter / 2


class WrongSlope(Huber):
    """Its residual lacks the 1/b."""

    def residual(self, Z: Real, y: Labels) -> Real:
        """Return b times too much."""
        return super().residual(Z, y) * Z.dtype.type(Z.shape[-1])


class WrongConstants(Huber):
    """Says that it is flatter than it is."""

    def constants(self, max_norm: float, max_point_norm: float, spread: float) -> Constants:
        """Return a hundredth of G."""
        found = super().constants(max_norm, max_point_norm, spread)
        return found._replace(G=found.G / 100)


class Early(Weibull):
    """Comes before it was sent."""

    def adds(self, seen: Seen, clock: str) -> NDArray[Any]:
        """Return less than nothing."""
        return -1 - super().adds(seen, clock)


class Bounded(Weibull):
    """Says that it adds nothing."""

    def most(self, rules: Rules, window: Window | None) -> int | None:  # noqa: ARG002
        """Return 0."""
        return 0


class Shaky(Weibull):
    """Depends on which rounds are asked for together."""

    def adds(self, seen: Seen, clock: str) -> NDArray[Any]:
        """Add how many there are."""
        return super().adds(seen, clock) + len(seen.rounds)


class Undescribed(Weibull):
    """Has a field without words, and no example for a clock."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"type": "x", "scale": 3},)  # type: ignore[assignment]
    other: int = 3


class Fresh(Sensors):
    """Loads other samples each time."""

    def load(self, seed: int) -> Dataset:
        """Draw anew."""
        return super().load(seed + next(_counter))


class Constant(Sensors):
    """Has one label."""

    def load(self, seed: int) -> Dataset:
        """Return class 1 alone."""
        found = super().load(seed)
        return Dataset(found.name, found.features, np.ones_like(found.labels), 2, 1.0)
