"""The box: every entry on its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgefw.problem.feasible.base import FeasibleSet, Real

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Box(FeasibleSet):
    """{x : |x_cj| <= r for all c, j}. Extreme points: every entry +-r.

    >>> Box((1, 3), 2.0).lmo(np.array([[3.0, -4.0, 0.0]])).tolist()
    [[-2.0, 2.0, -2.0]]
    """

    name = "box"

    @property
    def diameter(self) -> float:
        """2 r sqrt(C m), from a corner to its opposite."""
        return 2 * self.radius * math.sqrt(self.size)

    def vertex(self, direction: Real) -> Real:
        """Return -r sign(g) entry by entry, dense; a zero gives -r."""
        r = direction.dtype.type(self.radius)
        return np.where(direction >= 0, -r, r)

    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x.clip(-self.radius, self.radius)

    def _within(self, x: Real, slack: float) -> NDArray[np.bool_]:
        return np.asarray(np.abs(x).max((-2, -1)).astype(np.float64) <= self.radius + slack)
