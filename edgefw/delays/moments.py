"""Moments of a clock are whole nanoseconds, written as seconds.

Sums of floats are not: 0.1 + 0.2 comes a little after 0.3. What begins at a moment and what is due at that
same moment have to agree on it, here and when the run is replayed from other floats. So whatever is computed
from moments is brought back to the nearest nanosecond: then equal means equal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SECOND = 1e9  # nanoseconds


def moment(seconds: float) -> float:
    """Return the nearest moment.

    >>> moment(0.1 + 0.2) == 0.3
    True
    """
    return seconds if math.isinf(seconds) else round(seconds * SECOND) / SECOND


def moments(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest moments (m,)."""
    nearest: NDArray[np.float64] = np.round(seconds * SECOND) / SECOND
    return nearest
