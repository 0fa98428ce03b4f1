"""One of each kind that another package may bring: a loss, a feasible set, a fault type, a data set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from edgefw.delays.fault import Fault, Rules, Seed, Seen, Window, level_added
from edgefw.delays.units import Delay
from edgefw.problem.dataset import Dataset
from edgefw.problem.datasets import Source
from edgefw.problem.feasible.base import FeasibleSet, Real
from edgefw.problem.loss import Constants, Labels, Loss
from edgefw.problem.seeding import rng

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.core.algorithm import Parts


class Huber(Loss):
    """Squared near the label, straight far from it."""

    takes_real = True

    def __init__(self, delta: float = 1.0) -> None:
        self._delta = delta

    def value(self, Z: Real, y: Labels) -> Real:
        """Return the mean over the batch."""
        error = np.abs(self._error(Z, y))
        near = np.square(error) / 2
        far = self._delta * (error - self._delta / 2)
        return np.asarray(np.where(error <= self._delta, near, far)[..., 0, :].mean(-1), Z.dtype)

    def residual(self, Z: Real, y: Labels) -> Real:
        """Return the error, cut off, over b."""
        cut = np.clip(self._error(Z, y), -self._delta, self._delta)
        return np.asarray(cut / Z.shape[-1], Z.dtype)

    def constants(self, max_norm: float, max_point_norm: float, spread: float) -> Constants:  # noqa: ARG002
        """Return G and beta."""
        return Constants(self._delta * max_norm, max_norm**2)

    @staticmethod
    def _error(Z: Real, y: Labels) -> Real:
        return np.asarray(Z - y[..., None, :].astype(Z.dtype))


class Range(FeasibleSet):
    """{x : low <= x_cj <= r}, low at most 0: not symmetric about 0."""

    name = "range"

    def __init__(self, shape: tuple[int, int], radius: float, low: float = 0.0) -> None:
        super().__init__(shape, radius)
        self._low = low

    @property
    def diameter(self) -> float:
        """From the lowest corner to the highest."""
        return (self.radius - self._low) * math.sqrt(self.size)

    @property
    def max_norm(self) -> float:
        """The norm of the corner that is farther out."""
        return max(self.radius, -self._low) * math.sqrt(self.size)

    def vertex(self, direction: Real) -> Real:
        """Return r where the direction falls or is flat, else the lowest; a direction of zeros gives r."""
        return np.where(direction <= 0, self.radius, self._low).astype(direction.dtype)

    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x.clip(self._low, self.radius)

    def _within(self, x: Real, slack: float) -> NDArray[np.bool_]:
        low, high = x.min((-2, -1)), x.max((-2, -1))
        return np.asarray((low >= self._low - slack) & (high <= self.radius + slack))


class Weibull(Fault):
    """Feedback comes late by what a Weibull distribution draws."""

    adds_time = True
    steady = True
    examples = (
        {"type": "strangers:Weibull", "scale": "200ms", "shape": 0.7},
        {"type": "strangers:Weibull", "scale": 3},
    )

    scale: Delay = Field(description="how late, about")
    shape: float = Field(default=1.0, gt=0, le=10, description="the smaller, the heavier its tail")
    seed: Seed = None

    def adds(self, seen: Seen, clock: str) -> NDArray[Any]:
        """Return what is drawn."""
        u = seen.draws.amounts(seen.rounds)
        level = float(self.scale) * (-np.log1p(-u)) ** (1 / self.shape)
        return level_added(np.maximum(level, 1.0 if clock == "rounds" else 0.0), clock)

    @property
    def largest(self) -> float:
        """Its size: it has no largest."""
        return float(self.scale)

    def most(self, rules: Rules, window: Window | None) -> int | None:  # noqa: ARG002
        """Return None: there is no bound."""
        return None


class Sensors(Source):
    """Readings of a few sensors, and whether their mean is high."""

    def __init__(self, sensors: int = 4, samples: int = 300) -> None:
        self._shape = samples, sensors

    def load(self, seed: int) -> Dataset:
        """Return them, drawn from the seed."""
        rows = rng(seed, "sensors").normal(size=self._shape).astype(np.float32)
        return Dataset("sensors", rows, (rows.mean(axis=1) > 0).astype(np.int64), 2, 1.0)


class Nothing:
    """Is none of them."""


class Half(Loss):
    """Has no residual."""

    def value(self, Z: Real, y: Labels) -> Real:
        """Return nothing of use."""
        raise NotImplementedError


class Typed(Fault):
    """Takes its type for its own."""

    type: str | None = None  # type: ignore[assignment]


class Empty(Source):
    """Loads no data set."""

    def load(self, seed: int) -> Dataset:
        """Return something else."""
        return seed  # type: ignore[return-value]


class Unmade:
    """An algorithm that takes no Parts."""

    def start_sweep(self, t: int, arrivals: object) -> None: ...

    def advance(self, frames: object) -> None: ...


class Unnamed(Unmade):
    """An algorithm whose agents do not say what they have applied."""

    def __init__(self, parts: Parts) -> None:
        self.agent, self.neighbours = parts.agent, parts.neighbours
