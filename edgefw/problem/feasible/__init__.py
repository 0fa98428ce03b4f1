"""Feasible sets: where decisions live, each known by its linear minimisation oracle and its projection."""

from __future__ import annotations

from edgefw.errors import unknown
from edgefw.problem.feasible.base import Atoms, FeasibleSet, densify
from edgefw.problem.feasible.box import Box
from edgefw.problem.feasible.l1_ball import L1Ball
from edgefw.problem.feasible.l1_per_class import L1PerClass
from edgefw.problem.feasible.l2_ball import L2Ball
from edgefw.problem.feasible.nuclear_ball import NuclearBall
from edgefw.problem.feasible.simplex import Simplex

__all__ = ["NAMES", "Atoms", "FeasibleSet", "densify", "make_set"]

_SETS: dict[str, type[FeasibleSet]] = {
    kind.name: kind for kind in (L1PerClass, L1Ball, Simplex, L2Ball, Box, NuclearBall)
}

NAMES = tuple(_SETS)


def make_set(name: str, shape: tuple[int, int], radius: float) -> FeasibleSet:
    """Return the set called `name` of points of `shape` (C, m), r being `radius`.

    >>> make_set("l1_per_class", (10, 784), 24)
    L1PerClass(shape=(10, 784), radius=24)
    """
    if name not in _SETS:
        raise unknown("feasible set", name, NAMES)
    return _SETS[name](shape, radius)
