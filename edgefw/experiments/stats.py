"""The small arithmetic of the tables: spreads and intervals over seeds, percentages, slopes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = Sequence[float] | NDArray[np.float64]

SHARE = 0.95  # of what is likely, that an interval spans


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


@dataclass(frozen=True)
class Interval:
    """A mean over seeds, and the 95 % interval of it by Student's t; one seed has none, its ends are NaN."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def apart(self) -> bool:
        """Whether 0 lies outside: a difference that is not chance."""
        return self.low > 0 or self.high < 0


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of at least one value with its 95 % interval.

    >>> interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484..., high=4.484..., count=3)
    """
    count, mean = len(values), float(np.mean(values))
    if count == 1:
        return Interval(mean, math.nan, math.nan, 1)
    half = student_t(count - 1) * float(np.std(values, ddof=1)) / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count)


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """Return a - b, seed by seed: both have values for the same seeds, in whatever order.

    >>> paired({1: 5.0, 2: 7.0}, {2: 1.0, 1: 2.0})
    [3.0, 6.0]
    """
    if a.keys() != b.keys():
        raise ValueError(f"seeds {sorted(a)} cannot be paired with seeds {sorted(b)}")
    return [a[seed] - b[seed] for seed in sorted(a)]


def student_t(freedom: int) -> float:
    """Return the t within which Student's distribution has 95 % of its mass.

    >>> round(student_t(4), 3)
    2.776
    """
    low, high = 0.0, 1.0
    while _mass(high, freedom) < SHARE:
        high *= 2
    while (middle := (low + high) / 2) not in {low, high}:
        low, high = (middle, high) if _mass(middle, freedom) < SHARE else (low, middle)
    return high


def _mass(t: float, freedom: int) -> float:
    """Return P(|T| <= t): Abramowitz and Stegun 26.7.3 and 26.7.4, exact for whole degrees of freedom."""
    angle = math.atan(t / math.sqrt(freedom))
    odd, cos_squared = freedom % 2, math.cos(angle) ** 2
    term, total = (math.cos(angle), 0.0) if odd else (1.0, 0.0)
    for k in range(odd, freedom - 1, 2):
        total += term
        term *= cos_squared * (k + 1) / (k + 2)
    sine = math.sin(angle)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


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
