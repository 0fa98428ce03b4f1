"""The small arithmetic of the tables: spreads over seeds, percentages, slopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """A measure over seeds: its mean, sample standard deviation (0 for one seed) and range."""

    mean: float
    sd: float
    low: float
    high: float

    def __str__(self) -> str:
        if not self.sd:
            return f"{self.mean:.1f}"
        return f"{self.mean:.1f} ± {self.sd:.{1 if self.sd < 9.95 else 0}f}"


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of at least one value.

    >>> spread([1.0, 2.0, 3.0])
    Spread(mean=2.0, sd=1.0, low=1.0, high=3.0)
    """
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Spread(float(np.mean(values)), sd, float(min(values)), float(max(values)))


def percent(a: float, a0: float) -> float:
    """Return how far a is from a0, in percent of a0.

    >>> percent(110, 100)
    10.0
    """
    return 100 * (a - a0) / a0


def symmetric_percent(a: float, a0: float) -> float:
    """Return 200 (a - a0)/(a + a0), the percentage that the paper prints: never beyond 200 in size.

    >>> round(symmetric_percent(1119.24, 925.72), 1)  # Table 2, Cycle, f = 20
    18.9
    """
    return 200 * (a - a0) / (a + a0)


def log_slope(x: Numbers, y: Numbers) -> float:
    """Return the least-squares slope of log y against log x, from at least two different x.

    >>> round(log_slope([1, 4, 16], [3, 6, 12]), 9)
    0.5
    """
    u, v = np.log(x), np.log(y)
    u -= u.mean()
    return float(u @ v / (u @ u))


def local_slopes(x: Numbers, y: Numbers) -> list[float]:
    """Return the slope of log y against log x between neighbouring points; one less than points."""
    return [float(slope) for slope in np.diff(np.log(y)) / np.diff(np.log(x))]
