"""How a check says what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.errors import EdgefwError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.problem.feasible.base import Real


class CheckError(EdgefwError):
    """What was checked is not so; the message says where, and what was found."""


def require(holds: bool | np.bool_ | NDArray[np.bool_], otherwise: str) -> None:  # noqa: FBT001 - what is required comes first
    """Raise unless it holds."""
    if not holds:
        raise CheckError(otherwise)


def same_bits(what: str, one: Any, other: Any) -> None:
    """Require two arrays, or stacks of them, to be equal bit for bit."""
    require(np.array_equal(np.asarray(one), np.asarray(other)), f"{what} differ by {_distance(one, other)}")


def close(what: str, one: Any, other: Any, tolerance: float) -> None:
    """Require two arrays to be equal up to a tolerance, absolute and relative."""
    first, second = np.asarray(one), np.asarray(other)
    fits = first.shape == second.shape and np.allclose(first, second, rtol=tolerance, atol=tolerance)
    require(fits, f"{what} differ by {_distance(one, other)}, {tolerance:g} is allowed")


def _distance(one: Any, other: Any) -> str:
    first: Real = np.asarray(one)
    second: Real = np.asarray(other)
    if first.shape != second.shape:
        return f"their shapes, {first.shape} and {second.shape}"
    return f"{np.abs(first - second).max():.3g}"
