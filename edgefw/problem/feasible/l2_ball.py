"""The Euclidean (Frobenius) ball."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.problem.feasible.base import FeasibleSet, Real

if TYPE_CHECKING:
    from numpy.typing import NDArray


class L2Ball(FeasibleSet):
    """{x : sum_cj x_cj^2 <= r^2}. Extreme points: the whole sphere.

    >>> L2Ball((1, 2), 5.0).lmo(np.array([[3.0, -4.0]])).tolist()
    [[-3.0, 4.0]]
    """

    name = "l2_ball"

    @property
    def diameter(self) -> float:
        """2 r."""
        return 2 * self.radius

    def vertex(self, direction: Real) -> Real:
        """Return -r g / |g|, dense; a direction of zeros gives -r at the first entry."""
        flat = direction.reshape(*direction.shape[:-2], self.size).astype(np.float64)
        flat[~flat.any(-1), 0] = 1
        answer = _unit(flat) * -self.radius
        return answer.reshape(direction.shape).astype(direction.dtype)

    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return (_unit(x.reshape(-1, self.size)) * self.radius).reshape(x.shape)

    def _within(self, x: Real, slack: float) -> NDArray[np.bool_]:
        flat = x.reshape(*x.shape[:-2], self.size).astype(np.float64)
        peak = np.maximum(np.abs(flat).max(-1), self.radius)
        return np.asarray(peak * np.linalg.norm(flat / peak[..., None], axis=-1) <= self.radius + slack)


def _unit(a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a (..., k), no row of it zero, with rows of length 1; safe from over- and underflow."""
    a = a / np.abs(a).max(-1, keepdims=True)
    return np.asarray(a / np.linalg.norm(a, axis=-1, keepdims=True))
