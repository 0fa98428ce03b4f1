"""What every feasible set has to pass: each check takes a set, and a seed for the points it is tried on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.checks.failure import close, require, same_bits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgefw.problem.feasible import FeasibleSet

    Points = NDArray[np.float64]

SHAPES = ((1, 1), (3, 5), (5, 2))
"""Shapes (C, m) that a set is tried in."""

SCALES = (1e-3, 0.1, 1.0, 30.0, 1e6)
_TYPES: tuple[type[np.floating[Any]], ...] = (np.float32, np.float64)


def lmo_is_optimal(feasible: FeasibleSet, seed: int) -> None:
    """No member of the set is better than the answer of lmo."""
    for scale in SCALES:
        direction = scale * noise(feasible, seed)
        inside = feasible.project(noise(feasible, seed + 2, 20))
        others = np.concatenate([members(feasible, seed + 1), inside])
        best, other = _inner(direction, feasible.lmo(direction)), _inner(direction, others).min()
        require(best <= other + 1e-9 * scale, f"lmo reaches {best:.9g}, a member {other:.9g}")


def projection_is_nearest(feasible: FeasibleSet, seed: int) -> None:
    """The projection of a point is in the set, and no member is nearer."""
    for scale in SCALES:
        x = scale * noise(feasible, seed)
        p = feasible.project(x)
        require(feasible.contains(p, 1e-11), f"a projection, of a point {scale:g} out, is not in the set")
        corner = feasible.lmo(p - x)[None]
        steps = np.concatenate([corner, members(feasible, seed + 1)]) - p
        gain = _inner(x - p, steps).max()
        require(
            gain <= 1e-11 * (1 + scale) * feasible.size, f"a member is nearer, by a step that gains {gain}"
        )


def projecting_twice_changes_nothing(feasible: FeasibleSet, seed: int) -> None:
    """A point of the set is its own projection, bit for bit, and so is a projection."""
    for dtype in _TYPES:
        points = np.concatenate([members(feasible, seed), [feasible.start(), feasible.uniform_start()]])
        far = [feasible.project((scale * noise(feasible, seed, 4)).astype(dtype)) for scale in SCALES]
        for given in (points.astype(dtype), *far):
            answer = feasible.project(given)
            same_bits(f"points in {np.dtype(dtype)} and their projections", answer, given)
            require(not np.shares_memory(answer, given), "a projection shares memory with what was given")


def answers_are_in_the_set(feasible: FeasibleSet, seed: int) -> None:
    """What lmo, project, start and uniform_start give is in the set, in the type that was given."""
    for dtype in _TYPES:
        far = (20 * noise(feasible, seed, 50)).astype(dtype)
        starts = feasible.start(dtype)[None], feasible.uniform_start(dtype)[None]
        named = zip(
            ("lmo", "project", "start", "uniform_start"),
            (feasible.lmo(far), feasible.project(far), *starts),
            strict=True,
        )
        for name, points in named:
            require(points.dtype == dtype, f"{name} answers in {points.dtype}, given {np.dtype(dtype)}")
            require(feasible.contains(points).all(), f"{name} gives a point that is not in the set")


def contains_refuses_what_is_outside(feasible: FeasibleSet, seed: int) -> None:
    """Points beyond the vertices are not in the set, unless the tolerance allows it; NaN never is."""
    longest = _longest(feasible, seed)
    beyond = longest * 1.001
    require(not feasible.contains(beyond), "a point beyond the farthest vertex is said to be in the set")
    require(feasible.contains(beyond, tolerance=0.1), "a tolerance of 0.1 does not allow 0.001 more")
    require(not feasible.contains(np.full(feasible.shape, np.nan)), "NaN is said to be in the set")


def norms_are_bounds(feasible: FeasibleSet, seed: int) -> None:
    """No two points are farther apart than diameter, none is longer than max_norm."""
    g = noise(feasible, seed, 30)
    vertices = np.concatenate([feasible.lmo(g), feasible.lmo(-g)])
    apart = np.linalg.norm((vertices[:, None] - vertices).reshape(60, 60, -1), axis=-1).max()
    norm = np.linalg.norm(vertices.reshape(60, -1), axis=-1).max()
    require(
        apart <= feasible.diameter * (1 + 1e-9), f"diameter is {feasible.diameter}, two are {apart} apart"
    )
    require(norm <= feasible.max_norm * (1 + 1e-9), f"max_norm is {feasible.max_norm}, a vertex has {norm}")


def stacks_are_points_one_by_one(feasible: FeasibleSet, seed: int) -> None:
    """A stack of points is treated as each of them alone, also an empty one."""
    x = 2 * noise(feasible, seed, 2, 3)
    lmo, project, contains = feasible.lmo(x), feasible.project(x), feasible.contains(x / 4)
    for place in np.ndindex(2, 3):
        close("lmo in a stack and alone", feasible.lmo(x[place]), lmo[place], 1e-12)
        close("project in a stack and alone", feasible.project(x[place]), project[place], 1e-12)
        require(feasible.contains(x[place] / 4) == contains[place], "contains in a stack and alone differ")
    none = x[:0, 0]
    for answer in (feasible.lmo(none), feasible.project(none)):
        require(answer.shape == none.shape, f"an empty stack has an answer of shape {answer.shape}")
    require(feasible.contains(none).shape == (0,), "contains of an empty stack is not empty")


def memory_layout_does_not_matter(feasible: FeasibleSet, seed: int) -> None:
    """How an array lies in memory does not matter."""
    x = noise(feasible, seed, 4)
    for axes in ((1, 0, 2), (0, 2, 1), (2, 1, 0)):
        view = x.transpose(axes).copy().transpose(np.argsort(axes))
        for name, method in (("lmo", feasible.lmo), ("project", feasible.project)):
            close(f"{name} of one array in two layouts", method(view), method(x), 1e-12)


def arguments_are_left_alone(feasible: FeasibleSet, seed: int) -> None:
    """What is given is not written to."""
    x = noise(feasible, seed, 3)
    x[0] = 0
    x.flags.writeable = False
    before = x.copy()
    for name, method in (
        ("lmo", feasible.lmo),
        ("project", feasible.project),
        ("contains", feasible.contains),
    ):
        try:
            method(x)
        except ValueError as error:
            require("read-only" not in str(error), f"{name} writes to what it is given")
            raise
        same_bits(f"what {name} was given, before and after,", x, before)


def answers_repeat(feasible: FeasibleSet, seed: int) -> None:
    """The same question has the same answer, bit for bit, also for a direction of zeros."""
    for x in (noise(feasible, seed), np.zeros(feasible.shape)):
        same_bits("two answers of lmo", feasible.lmo(x), feasible.lmo(x.copy()))
        same_bits("two projections", feasible.project(3 * x), feasible.project(3 * x))
        require(feasible.contains(feasible.lmo(x)), "lmo gives a point that is not in the set")


def scale_of_a_direction_does_not_matter(feasible: FeasibleSet, seed: int) -> None:
    """A direction that is longer or shorter has the same vertex."""
    g = noise(feasible, seed)
    for scale in (1e-300, 1e-30, 1e30, 1e150):
        close(f"vertices of g and {scale:g} g", feasible.lmo(g * scale), feasible.lmo(g), 1e-9)


CHECKS: tuple[Callable[[FeasibleSet, int], None], ...] = (
    lmo_is_optimal,
    projection_is_nearest,
    projecting_twice_changes_nothing,
    answers_are_in_the_set,
    contains_refuses_what_is_outside,
    norms_are_bounds,
    stacks_are_points_one_by_one,
    memory_layout_does_not_matter,
    arguments_are_left_alone,
    answers_repeat,
    scale_of_a_direction_does_not_matter,
)


def noise(feasible: FeasibleSet, seed: int, *lead: int) -> Points:
    """Return points (lead, C, m) of standard normal entries."""
    return np.random.default_rng(seed).standard_normal((*lead, *feasible.shape))


def members(feasible: FeasibleSet, seed: int) -> Points:
    """Return twenty vertices and twenty mixtures of them, (40, C, m)."""
    vertices = feasible.lmo(noise(feasible, seed, 20))
    mixtures = np.random.default_rng(seed).dirichlet(np.full(20, 0.3), 20)
    return np.concatenate([vertices, np.einsum("ij,jcm->icm", mixtures, vertices)])


def _longest(feasible: FeasibleSet, seed: int) -> Points:
    """Return the longest of a few vertices: what lies beyond it on its ray is not in a convex set's reach."""
    vertices = feasible.lmo(noise(feasible, seed, 10))
    longest = int(np.linalg.norm(vertices.reshape(10, -1), axis=-1).argmax())
    return np.asarray(vertices[longest], np.float64)


def _inner(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.asarray((a * b).sum((-2, -1)))
