"""Delays as whole numbers of rounds: what "never" is, and how seconds become rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NEVER = 2**62
"""The delay of feedback that never comes: s + NEVER - 1 still fits int64 for every round s."""

LONGEST = 2**53
"""The largest delay that is not NEVER: heavy tails are cut here, where float64 still counts in ones."""

SLACK = 1e-9
"""In units of a round: 0.3 s / 0.1 s is 2.9999999999999996, and means 3."""


def completed(amount: NDArray[np.float64], unit: float) -> NDArray[np.int64]:
    """Return how many whole `unit`s fit in each amount: floor(amount / unit), cut at LONGEST.

    >>> completed(np.array([0.0, 0.29, 0.3]), 0.1)
    array([0, 2, 3])
    """
    with np.errstate(over="ignore"):  # an amount that is infinite in units is cut like any other
        units = np.floor(amount / unit + SLACK)
    return np.minimum(units, LONGEST).astype(np.int64)


def nearest(amount: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest whole numbers (halves upwards), at least 1 and at most LONGEST."""
    return np.clip(np.floor(amount + 0.5), 1, LONGEST).astype(np.int64)


def check_number(name: str, value: Any) -> None:
    """Refuse what is not a finite number."""
    numeric = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not numeric or not abs(value) <= LONGEST:  # also NaN
        raise InputError(f"`{name}` is {value!r}: it must be a finite number (2^53 at most)")


def check_delay(name: str, value: float, *, least: float = 0) -> None:
    """Refuse a delay that is negative or, in rounds (`least` = 1), below 1."""
    check_number(name, value)
    if value < 0:
        raise InputError(f"delay `{name}` is {value}: a delay cannot be negative")
    if value < least:
        raise InputError(f"delay `{name}` is {value}: a delay in rounds is at least 1 (1 = no delay)")


def check_delays(name: str, values: Sequence[float], *, least: float = 0) -> None:
    """Refuse the first of many values that is no delay."""
    if set(map(type, values)) <= {int, float} and values:
        numbers = np.array(
            values, dtype=np.float64
        )  # the usual case: a long trace is not looked at one by one
        if ((numbers >= least) & (numbers <= LONGEST)).all():
            return
    for value in values:
        check_delay(name, value, least=least)


def check_fraction(name: str, value: float) -> None:
    """Refuse what is not in [0, 1]."""
    check_number(name, value)
    if not 0 <= value <= 1:
        raise InputError(f"`{name}` is {value}: it must lie between 0 and 1")


def check_whole(name: str, value: Any, *, least: int) -> None:
    """Refuse what is not a whole number from `least` on."""
    integral = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not integral or not least <= value <= LONGEST:
        raise InputError(f"`{name}` is {value!r}: it must be a whole number, {least} or more")
