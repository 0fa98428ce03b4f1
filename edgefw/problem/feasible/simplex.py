"""The scaled probability simplex."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgefw.problem.feasible.base import Atoms, FeasibleSet, Real
from edgefw.problem.feasible.rows import nearest_on_simplex, smallest

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


class Simplex(FeasibleSet):
    """{x : x_cj >= 0, sum_cj x_cj = r}. Extreme points: a single entry r. The only set without 0.

    >>> Simplex((2, 2), 4.0).lmo(np.array([[1.0, -3.0], [0.0, 2.0]])).tolist()
    [[0.0, 4.0], [0.0, 0.0]]
    """

    name = "simplex"

    @property
    def diameter(self) -> float:
        """The distance r sqrt(2) between any two vertices; 0 if the simplex is a single point."""
        return self.radius * math.sqrt(2) if self.size > 1 else 0.0

    @property
    def max_norm(self) -> float:
        """The norm of every vertex, r."""
        return self.radius

    def vertex(self, direction: Real) -> Atoms:
        """Return one atom: r at the smallest entry; ties, and a direction of zeros: the first."""
        place, picked = smallest(direction)
        row = picked.argmin(-1)[..., None]
        index = row * self.shape[1] + np.take_along_axis(place, row, -1)
        return Atoms(index, np.full(index.shape, self.radius, direction.dtype))

    def start(self, dtype: DTypeLike = np.float64) -> Real:
        """Return the middle of the simplex, (C, m): every entry r / (m C)."""
        return self.uniform_start(dtype)

    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return nearest_on_simplex(x.reshape(-1, self.size), self.radius).reshape(x.shape)

    def _within(self, x: Real, slack: float) -> NDArray[np.bool_]:
        total = x.sum((-2, -1), dtype=np.float64)
        return np.asarray((np.abs(total - self.radius) <= slack) & (x.min((-2, -1)) >= -slack))
