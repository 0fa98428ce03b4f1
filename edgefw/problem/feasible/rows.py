"""Row by row: the entry a linear function picks, and the threshold of a projection onto an l1 ball."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.problem.feasible.base import Real


def smallest(a: Real) -> tuple[NDArray[np.intp], Real]:
    """Return position and value of the smallest entry of each row of a (..., m), both (...); ties: first."""
    rows, back = _in_memory_order(a)
    place = rows.argmin(-1)
    return _turned(place, back), _turned(_at(rows, place), back)


def largest_magnitude(a: Real) -> tuple[NDArray[np.intp], Real]:
    """Return position and value of the entry of largest magnitude of each row of a (..., m), both (...).

    Ties: a positive entry before a negative one, then the first. Two scans of `a` are
    quicker than one of abs(a), which would have to be written out first.
    """
    rows, back = _in_memory_order(a)
    high, low = rows.argmax(-1), rows.argmin(-1)
    top, bottom = _at(rows, high), _at(rows, low)
    positive = top >= -bottom
    place, value = np.where(positive, high, low), np.where(positive, top, bottom)
    return _turned(place, back), _turned(value, back)


def largest_of_one(a: Real) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the flat position of that entry of each row of one contiguous a (C, m), and whether it is >= 0.

    The same choice in half the steps, of which an agent takes as many as it has exchanges; both are (C,).
    """
    starts, flat = _starts(a.shape[:1], a.shape[1]), a.reshape(-1)
    high, low = a.argmax(-1), a.argmin(-1)
    high += starts
    low += starts
    positive = flat.take(high) >= -flat.take(low)
    return np.where(positive, high, low), positive


def nearest_on_simplex(a: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return, for each row of a (..., m), the nearest row with entries >= 0 that sum to `total`.

    The answer is max(a - theta, 0); theta follows from the sorted row (Held, Wolfe and Crowder, 1974). All is
    measured downwards from the row's largest entry, so that no digit is lost however large the row is: the
    entries that stay positive are within `total` of it.
    """
    drop = a.max(-1, keepdims=True) - a
    ascending = np.sort(drop, axis=-1)
    sums = ascending.cumsum(-1)
    sums += total
    ascending *= np.arange(1, a.shape[-1] + 1)
    kept = np.count_nonzero(ascending < sums, axis=-1, keepdims=True)
    level = np.take_along_axis(sums, kept - 1, -1) / kept
    # A long running sum has lost some digits: one Newton step on sum(answer) = total brings them back.
    level -= (np.maximum(level - drop, 0).sum(-1, keepdims=True) - total) / kept
    return np.asarray(np.maximum(level - drop, 0))


def _in_memory_order(a: Real) -> tuple[Real, tuple[int, ...] | None]:
    """Return `a` with its leading axes in memory order, and the axes that put a reduced array back, if any.

    numpy copies what it scans unless that is contiguous; a (n, C, m) view of (C, n, m) memory is, so turned.
    """
    lead = a.ndim - 1
    if a.flags.c_contiguous:
        return a, None
    order = sorted(range(lead), key=lambda axis: -a.strides[axis])
    return a.transpose(*order, lead), tuple(sorted(range(lead), key=order.__getitem__))


def _turned(reduced: NDArray[Any], back: tuple[int, ...] | None) -> NDArray[Any]:
    return reduced if back is None else reduced.transpose(back)


def _at(rows: Real, place: NDArray[np.intp]) -> Real:
    """Return the entries of rows (..., m) at place (...)."""
    return rows.reshape(-1).take(_starts(place.shape, rows.shape[-1]) + place)


@lru_cache(16)
def _starts(lead: tuple[int, ...], m: int) -> NDArray[np.intp]:
    """Return where rows begin in memory, of shape `lead`; an agent asks for the same in every exchange."""
    starts = np.arange(0, math.prod(lead) * m, m).reshape(lead)
    starts.flags.writeable = False
    return starts
