"""What every feasible set offers, and the sparse form of a vertex."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

Real: TypeAlias = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """Sparse points: `value[..., a]` stands at flat position `index[..., a]` of C*m, zero elsewhere.

    Both arrays are of shape (..., s); a position occurs at most once in a point.
    """

    index: NDArray[np.intp]
    value: Real


def densify(atoms: Atoms, shape: Sequence[int]) -> Real:
    """Return the points (..., C, m) that `atoms` (..., s) describe, `shape` being (C, m).

    >>> densify(Atoms(np.array([1, 3]), np.array([5.0, -5.0])), (2, 2)).tolist()
    [[0.0, 5.0], [0.0, -5.0]]
    """
    lead, size = atoms.index.shape[:-1], math.prod(shape)
    points = np.zeros((math.prod(lead), size), atoms.value.dtype)
    rows = np.arange(len(points))[:, None]
    count = atoms.index.shape[-1]
    points[rows, atoms.index.reshape(-1, count)] = atoms.value.reshape(-1, count)
    return points.reshape(*lead, *shape)


class FeasibleSet(ABC):
    """A convex, compact set of points x of shape (C, m), known by its linear minimisation oracle.

    Every method takes points (..., C, m) of any floating type, works on each of them alone and answers in
    the same type. Norms are summed in float64, so float32 points lose nothing to the number of entries.
    """

    name: ClassVar[str]

    def __init__(self, shape: tuple[int, int], radius: float) -> None:
        if not (math.isfinite(radius) and radius > 0):
            raise InputError(f"problem.radius is {radius:g}: it must be a positive number")
        self.shape = shape
        self.radius = float(radius)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, radius={self.radius:g})"

    @property
    def size(self) -> int:
        """C m, the number of entries of a point."""
        return math.prod(self.shape)

    @property
    @abstractmethod
    def diameter(self) -> float:
        """D, the largest Euclidean (Frobenius) distance between two points of the set."""

    @property
    def max_norm(self) -> float:
        """The largest Euclidean norm of a point: D / 2, as all sets but the simplex are symmetric about 0."""
        return self.diameter / 2

    @abstractmethod
    def vertex(self, direction: Real) -> Atoms | Real:
        """Return an extreme point that minimises <direction, v>, in its cheapest form: Atoms or (..., C, m).

        Ties, and a direction of zeros, are settled the same way every time; each set says how.
        """

    def lmo(self, direction: Real) -> Real:
        """Return `vertex(direction)` as dense points (..., C, m)."""
        answer = self.vertex(direction)
        return densify(answer, self.shape) if isinstance(answer, Atoms) else answer

    def project(self, x: Real) -> Real:
        """Return the nearest points of the set, (..., C, m), in memory of their own.

        What is in the set, up to rounding, comes back bit for bit; so projecting twice changes nothing.
        """
        outside = ~self._within(x, self._rounding(x.dtype) * self.radius)
        answer = x.copy()
        if outside.any():
            answer[outside] = self._nearest(x[outside].astype(np.float64))
        return answer

    @abstractmethod
    def _nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest of the set to the parts (k, ...) of x that `_within` finds outside."""

    def contains(self, x: Real, tolerance: float | None = None) -> NDArray[np.bool_]:
        """Say of each point whether it is in the set, up to `tolerance` times the radius; shape (...).

        The default allows for the rounding of a few dozen averaging steps: 1e-5 in float32, 1e-10 in float64.
        """
        if tolerance is None:
            tolerance = max(100 * float(np.finfo(x.dtype).eps), 1e-10)
        inside = self._within(x, tolerance * self.radius)
        return np.asarray(inside.all(tuple(range(x.ndim - 2, inside.ndim))))

    @abstractmethod
    def _within(self, x: Real, slack: float) -> NDArray[np.bool_]:
        """Say of each part of x (..., C, m) that is projected alone whether it is inside, up to `slack`.

        The parts are the points, shape (...); a set that is a product over the rows answers (..., C).
        """

    def _rounding(self, dtype: DTypeLike) -> float:
        """Return how far out, relative to r, rounding may leave a point computed to be on the boundary.

        Its entries are rounded to their type, and a threshold they share is rounded in float64.
        """
        return max(8 * float(np.finfo(dtype).eps), 1e-12, self.size * float(np.finfo(np.float64).eps))

    def start(self, dtype: DTypeLike = np.float64) -> Real:
        """Return x_{t,1}, the (C, m) point every round starts from: 0, where 0 is in the set."""
        return np.zeros(self.shape, dtype)

    def uniform_start(self, dtype: DTypeLike = np.float64) -> Real:
        """Return x_1 of DOFW, (C, m): every entry is r / (m C). It is in every one of the sets.

        Its l1 norm is r, its l2 and nuclear norms r / sqrt(m C), the l1 norm of a row r / C.
        """
        return np.full(self.shape, self.radius / self.size, dtype)
