"""The nuclear-norm ball, where projecting is dear and the oracle is one singular pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.problem.feasible.base import FeasibleSet, Real
from edgefw.problem.feasible.rows import nearest_on_simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray


class NuclearBall(FeasibleSet):
    """{x : the singular values of x sum to at most r}. Extreme points: r u v^T with |u| = |v| = 1.

    >>> NuclearBall((2, 2), 5.0).lmo(np.array([[0.0, 2.0], [1.0, 0.0]])).round(9).tolist()
    [[-0.0, -5.0], [-0.0, -0.0]]
    """

    name = "nuclear_ball"

    @property
    def diameter(self) -> float:
        """2 r, from r u v^T to its opposite."""
        return 2 * self.radius

    def vertex(self, direction: Real) -> Real:
        """Return -r u v^T, dense, where u, v is a leading singular pair of the direction.

        Of several leading pairs, the one LAPACK's symmetric eigensolver ranks last. A direction of zeros is
        taken for one with a 1 at its first entry and gives -r there.
        """
        g = direction.astype(np.float64)
        g[~g.any((-2, -1)), 0, 0] = 1
        g /= np.abs(g).max((-2, -1), keepdims=True)
        u = _leading_left(g)
        v = np.matmul(u.swapaxes(-1, -2), g)
        v /= np.linalg.norm(v, axis=-1, keepdims=True)
        return np.asarray(u * v * -self.radius, direction.dtype)

    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        u, s, vt = np.linalg.svd(x, full_matrices=False)
        return np.asarray((u * nearest_on_simplex(s, self.radius)[..., None, :]) @ vt)

    def _within(self, x: Real, slack: float) -> NDArray[np.bool_]:
        finite = np.asarray(np.isfinite(x).all((-2, -1), keepdims=True))  # LAPACK refuses the others
        s = np.linalg.svd(np.where(finite, x, 0).astype(np.float64), compute_uv=False)
        return np.asarray(finite[..., 0, 0] & (s.sum(-1) <= self.radius + slack))


def _leading_left(g: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return u (..., C, 1), a left singular vector of the largest singular value of g (..., C, m).

    By the Gram matrix of the shorter side: C is small, and squaring hurts only the small singular values.
    """
    gt = g.swapaxes(-1, -2)
    if g.shape[-2] <= g.shape[-1]:
        return np.linalg.eigh(g @ gt).eigenvectors[..., -1:]
    u = g @ np.linalg.eigh(gt @ g).eigenvectors[..., -1:]
    return np.asarray(u / np.linalg.norm(u, axis=-2, keepdims=True))
