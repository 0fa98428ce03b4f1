"""The set of the experiments: an l1 ball for every class."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgefw.problem.feasible.base import Atoms, FeasibleSet, Real
from edgefw.problem.feasible.rows import largest_magnitude, largest_of_one, nearest_on_simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray


class L1PerClass(FeasibleSet):
    """{x : sum_j |x_cj| <= r for every class c}. Extreme points: one entry +-r in every row.

    >>> L1PerClass((2, 3), 4.0).lmo(np.array([[1.0, -3.0, 2.0], [0.0, 0.0, 0.0]])).tolist()
    [[0.0, 4.0, 0.0], [-4.0, 0.0, 0.0]]
    """

    name = "l1_per_class"

    @property
    def diameter(self) -> float:
        """2 r sqrt(C), from a vertex to its opposite."""
        return 2 * self.radius * math.sqrt(self.shape[0])

    def vertex(self, direction: Real) -> Atoms:
        """Return C atoms, one a row: -r sign(g) at the entry g of largest magnitude.

        Ties: a positive entry before a negative one, then the first. A row of zeros gives -r at its first.
        """
        r = direction.dtype.type(self.radius)
        if direction.ndim == 2 and direction.flags.c_contiguous:
            index, positive = largest_of_one(direction)
            return Atoms(index, np.where(positive, -r, r))
        place, picked = largest_magnitude(direction)
        return Atoms(place + self._first, np.where(picked >= 0, -r, r))

    @cached_property
    def _first(self) -> NDArray[np.intp]:
        """The flat positions at which the rows of a point begin, (C,)."""
        classes, m = self.shape
        return np.arange(0, classes * m, m)

    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.copysign(nearest_on_simplex(np.abs(x), self.radius), x)

    def _within(self, x: Real, slack: float) -> NDArray[np.bool_]:
        return np.asarray(np.abs(x).sum(-1, dtype=np.float64) <= self.radius + slack)
