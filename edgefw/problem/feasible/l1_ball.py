"""One l1 ball for the whole point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.problem.feasible.base import Atoms, FeasibleSet, Real
from edgefw.problem.feasible.rows import largest_magnitude, nearest_on_simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray


class L1Ball(FeasibleSet):
    """{x : sum_cj |x_cj| <= r}. Extreme points: a single entry +-r.

    >>> L1Ball((2, 3), 4.0).lmo(np.array([[1.0, -3.0, 2.0], [0.0, 0.0, 0.0]])).tolist()
    [[0.0, 4.0, 0.0], [0.0, 0.0, 0.0]]
    """

    name = "l1_ball"

    @property
    def diameter(self) -> float:
        """2 r, from a vertex to its opposite."""
        return 2 * self.radius

    def vertex(self, direction: Real) -> Atoms:
        """Return one atom: -r sign(g) at the entry g of largest magnitude.

        Ties: the first row, in it a positive entry before a negative one, then the first. A direction of
        zeros gives -r at the first entry.
        """
        place, picked = largest_magnitude(direction)
        row = np.abs(picked).argmax(-1)[..., None]
        r = direction.dtype.type(self.radius)
        index = row * self.shape[1] + np.take_along_axis(place, row, -1)
        return Atoms(index, np.where(np.take_along_axis(picked, row, -1) >= 0, -r, r))

    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        sizes = np.abs(x).reshape(-1, self.size)
        return np.copysign(nearest_on_simplex(sizes, self.radius).reshape(x.shape), x)

    def _within(self, x: Real, slack: float) -> NDArray[np.bool_]:
        return np.asarray(np.abs(x).sum((-2, -1), dtype=np.float64) <= self.radius + slack)
