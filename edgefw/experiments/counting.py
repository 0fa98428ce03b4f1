"""Wrappers that count what an algorithm asks for: vertices, projections, gradients, messages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.problem.feasible import Atoms, FeasibleSet
from edgefw.problem.loss import Loss

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

    from edgefw.core.algorithm import Agent
    from edgefw.core.messages import Feedback, Frame, Play
    from edgefw.problem.feasible.base import Real


@dataclass
class Tally:
    """How often each thing was asked for, by all agents together."""

    projections: int = 0
    vertices: int = 0  # calls of the linear minimisation oracle
    gradients: int = 0
    messages: int = 0

    def clear(self) -> None:
        """Count from zero again."""
        self.projections = self.vertices = self.gradients = self.messages = 0


class CountingSet(FeasibleSet):
    """A feasible set that counts the points it is asked for, and asks another one for them."""

    name = "counting"

    def __init__(self, inner: FeasibleSet, tally: Tally) -> None:
        super().__init__(inner.shape, inner.radius)
        self._inner, self._tally = inner, tally

    @property
    def diameter(self) -> float:
        """D of the inner set."""
        return self._inner.diameter

    def vertex(self, direction: Real) -> Atoms | Real:
        """Count one for every direction (..., C, m); `lmo` comes through here as well."""
        self._tally.vertices += _points(direction)
        return self._inner.vertex(direction)

    def project(self, x: Real) -> Real:
        """Count one for every point (..., C, m)."""
        self._tally.projections += _points(x)
        return self._inner.project(x)

    def start(self, dtype: DTypeLike = np.float64) -> Real:
        """Return the inner set's x_{t,1}."""
        return self._inner.start(dtype)

    def uniform_start(self, dtype: DTypeLike = np.float64) -> Real:
        """Return the inner set's x_1 of DOFW."""
        return self._inner.uniform_start(dtype)

    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._inner._nearest(x)  # noqa: SLF001 - a set by another name

    def _within(self, x: Real, slack: float) -> NDArray[np.bool_]:
        return self._inner._within(x, slack)  # noqa: SLF001


class CountingLoss(Loss):
    """A loss that counts the points whose gradient (residual) is asked for."""

    name = "counting"
    slope = math.inf
    curvature = math.inf

    def __init__(self, inner: Loss, tally: Tally) -> None:
        self._inner, self._tally = inner, tally

    def value(self, Z: Real, y: NDArray[np.integer[Any]]) -> Real:
        """Return the inner loss: values are free."""
        return self._inner.value(Z, y)

    def residual(self, Z: Real, y: NDArray[np.integer[Any]]) -> Real:
        """Count one for every matrix of logits (..., C, b)."""
        self._tally.gradients += _points(Z)
        return self._inner.residual(Z, y)


class CountingAgent:
    """An agent that counts the messages it receives."""

    def __init__(self, inner: Agent, tally: Tally) -> None:
        self._inner, self._tally = inner, tally
        self.agent, self.neighbours, self.applied = inner.agent, inner.neighbours, inner.applied

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Begin round t."""
        frame = self._inner.start_sweep(t, arrivals)
        self.applied = self._inner.applied
        return frame

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        """Count the frames, one from every neighbour, and hand them on."""
        self._tally.messages += len(frames)
        return self._inner.advance(frames)


def _points(array: Real) -> int:
    """Return how many matrices an array (..., rows, columns) holds."""
    return math.prod(array.shape[:-2])
