"""The best fixed point over a run, certified: accelerated projected gradient and its Frank-Wolfe gap.

The objective is sum_t F_t(x) = sum over samples of weight * loss, convex and smooth. FISTA with two-way
backtracking (the step grows again where the curvature allows) and adaptive restart finds the point. Every
gradient gives a lower bound, F(y) + min over the set of <grad F(y), v - y>; the best one so far certifies.

The logits of the extrapolated point are extrapolated logits, so an iteration costs one product with the
features forwards and one back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core.regret import Comparator

if TYPE_CHECKING:
    from edgefw.problem.feasible import FeasibleSet
    from edgefw.problem.feasible.base import Real
    from edgefw.problem.loss import Labels, Loss

BLOCK = 512  # samples
Enough = Callable[[Comparator], bool]


@dataclass(frozen=True, eq=False)
class Objective:
    """sum_t F_t over the samples of a run: labels (N,), weights (N,), in whose type the search computes.

    `rows(part, dtype)` gives the scaled features (n, m) of the samples in a slice. They are asked for in
    blocks, again for every product: a block stays in the processor's cache, and the whole is never in memory.
    """

    loss: Loss
    rows: Callable[[slice, np.dtype[Any]], Real]
    labels: Labels
    weights: Real

    def logits(self, x: Real) -> Real:
        """Return x A^T; (C, m) gives (C, N)."""
        Z = np.empty((len(x), len(self.labels)), x.dtype)
        for part, A in self._blocks(x.dtype):
            np.matmul(x, A.T, out=Z[:, part])
        return Z

    def value(self, Z: Real) -> float:
        """Return the objective at logits Z (C, N), summed in float64."""
        per_sample = self.loss.value(Z.T[..., None], self.labels[:, None])
        return float(np.dot(per_sample.astype(np.float64), self.weights.astype(np.float64)))

    def gradient(self, Z: Real) -> Real:
        """Return the gradient (C, m) at logits Z (C, N)."""
        residual = self.loss.residual(Z.T[..., None], self.labels[:, None])[..., 0]  # (N, C)
        R = (residual * self.weights[:, None]).T
        return np.asarray(sum(R[:, part] @ A for part, A in self._blocks(Z.dtype)))

    def _blocks(self, dtype: np.dtype[Any]) -> Iterator[tuple[slice, Real]]:
        for first in range(0, len(self.labels), BLOCK):
            part = slice(first, first + BLOCK)
            yield part, self.rows(part, dtype)


@dataclass
class Solution:
    """The best point found, its loss and its certificate."""

    point: Real
    comparator: Comparator
    iterations: int
    bound_point: Real = field(repr=False)  # where the best lower bound was taken


def solve(
    objective: Objective,
    feasible: FeasibleSet,
    enough: Enough,
    *,
    max_iterations: int = 20_000,
    start: Real | None = None,
) -> Solution:
    """Minimise the objective over the set until `enough(comparator)` says the certificate will do."""
    search = _Search(objective, feasible, start)
    iterations = 0
    while iterations < max_iterations:
        search.step()
        iterations += 1
        if enough(search.comparator):
            break
    return Solution(search.best_x, search.comparator, iterations, search.bound_y)


def certify(objective: Objective, feasible: FeasibleSet, solution: Solution) -> Comparator:
    """Return the certificate of a solution computed anew in float64."""
    value = objective.value(objective.logits(solution.point.astype(np.float64)))
    y = solution.bound_point.astype(np.float64)
    Z = objective.logits(y)
    gradient = objective.gradient(Z)
    lower = objective.value(Z) + float(np.vdot(gradient, feasible.lmo(gradient) - y))
    return Comparator(value, max(value - lower, 0.0))


class _Search:
    """The state of the accelerated method."""

    GROW, SHRINK = 2.0, 0.9  # of the curvature estimate: on a failed step, and before every step
    TRIES = 40  # a step that is so short that float32 sees no difference is as good as any

    def __init__(self, objective: Objective, feasible: FeasibleSet, start: Real | None) -> None:
        self.objective, self.feasible = objective, feasible
        first = feasible.start() if start is None else start
        self.x = self.y = first.astype(objective.weights.dtype)
        self.Zx = self.Zy = objective.logits(self.x)
        self.momentum = 1.0
        self.curvature = 1.0
        self.best, self.best_x = objective.value(self.Zx), self.x
        self.lower, self.bound_y = -np.inf, self.x

    @property
    def comparator(self) -> Comparator:
        return Comparator(self.best, max(self.best - self.lower, 0.0))

    def step(self) -> None:
        """One gradient, one or more projections, one extrapolation."""
        gradient, at_y = self.objective.gradient(self.Zy), self.objective.value(self.Zy)
        self._bound(at_y, gradient)
        x, Z, value = self._descend(at_y, gradient)
        restart = float(np.vdot(gradient, x - self.x)) > 0
        if value < self.best:
            self.best, self.best_x = value, x
        self._extrapolate(x, Z, restart=restart)

    def _bound(self, at_y: float, gradient: Real) -> None:
        lower = at_y + float(np.vdot(gradient, self.feasible.lmo(gradient) - self.y))
        if lower > self.lower:
            self.lower, self.bound_y = lower, self.y

    def _descend(self, at_y: float, gradient: Real) -> tuple[Real, Real, float]:
        """Return the projected step at a curvature that majorises the objective along it."""
        self.curvature *= self.SHRINK
        for _ in range(self.TRIES):
            x = self.feasible.project(self.y - gradient / self.curvature)
            Z, move = self.objective.logits(x), x - self.y
            value = self.objective.value(Z)
            model = at_y + float(np.vdot(gradient, move)) + self.curvature / 2 * float(np.vdot(move, move))
            if value <= model + 1e-6 * abs(at_y):  # float32 cannot tell smaller differences
                break
            self.curvature *= self.GROW
        return x, Z, value

    def _extrapolate(self, x: Real, Z: Real, *, restart: bool) -> None:
        previous = 1.0 if restart else self.momentum
        self.momentum = (1 + np.sqrt(1 + 4 * previous**2)) / 2
        beta = x.dtype.type(0.0 if restart else (previous - 1) / self.momentum)
        self.y, self.Zy = x + beta * (x - self.x), Z + beta * (Z - self.Zx)
        self.x, self.Zx = x, Z
