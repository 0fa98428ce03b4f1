"""Counts what an algorithm asks for: vertices, projections, gradients, messages."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgefw.core.algorithm import Agent
    from edgefw.core.messages import Frame
    from edgefw.problem.feasible import FeasibleSet
    from edgefw.problem.feasible.base import Real
    from edgefw.problem.loss import Loss

T = TypeVar("T")


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

    def of_set(self, feasible: FeasibleSet) -> FeasibleSet:
        """Return a set like this one, whose vertices (`lmo` asks for them too) and projections count."""
        return self._counting(
            self._counting(feasible, "vertex", "vertices", _points), "project", "projections", _points
        )

    def of_loss(self, loss: Loss) -> Loss:
        """Return a loss like this one, of which every point whose gradient (residual) is asked for counts."""
        return self._counting(loss, "residual", "gradients", _points)

    def of_agent(self, agent: Agent) -> Agent:
        """Return an agent like this one, which counts the frames it is given."""
        return self._counting(agent, "advance", "messages", _frames)

    def _counting(self, original: T, method: str, what: str, number: Callable[[Any], int]) -> T:
        """Return a copy whose `method` adds the `number` of what it is given to a count."""
        twin = copy(original)
        answer = getattr(type(original), method)

        def counting(given: Any, *others: Any) -> Any:
            setattr(self, what, getattr(self, what) + number(given))
            return answer(twin, given, *others)

        setattr(twin, method, counting)
        return twin


def _points(array: Real) -> int:
    """Return how many matrices an array (..., rows, columns) holds."""
    return math.prod(array.shape[:-2])


def _frames(frames: Mapping[int, Frame]) -> int:
    return len(frames)
