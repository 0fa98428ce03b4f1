"""Feasible sets: where decisions live, each known by its linear minimisation oracle and its projection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgefw.plugins import Registry, check_params, subclass
from edgefw.problem.feasible.base import Atoms, FeasibleSet, densify
from edgefw.problem.feasible.box import Box
from edgefw.problem.feasible.l1_ball import L1Ball
from edgefw.problem.feasible.l1_per_class import L1PerClass
from edgefw.problem.feasible.l2_ball import L2Ball
from edgefw.problem.feasible.nuclear_ball import NuclearBall
from edgefw.problem.feasible.simplex import Simplex

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NAMES", "SETS", "Atoms", "FeasibleSet", "densify", "make_set"]

SETS: Registry[type[FeasibleSet]] = Registry(
    "feasible set",
    "edgefw.sets",
    {kind.name: kind for kind in (L1PerClass, L1Ball, Simplex, L2Ball, Box, NuclearBall)},
    subclass("feasible set", FeasibleSet),  # type: ignore[type-abstract]
)

NAMES = tuple(SETS)


def make_set(
    name: str, shape: tuple[int, int], radius: float, params: Mapping[str, Any] | None = None
) -> FeasibleSet:
    """Return the set called `name` of points of `shape` (C, m), r being `radius`; `params` are its own.

    >>> make_set("l1_per_class", (10, 784), 24)
    L1PerClass(shape=(10, 784), radius=24)
    """
    kind, given = SETS[name], params or {}
    check_params("problem.set_params", kind, given, given=2)
    return kind(shape, radius, **given)
