"""Curves over rounds in bounded memory. Pure.

A point stands for a stretch of rounds. While a run is short it is one round; when there are too many points,
neighbours are merged in pairs and each stands for twice as many rounds from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

LAST, MOST = "last", "most"
"""How a point sums up its rounds: by the last value, or by the largest."""


class Curves:
    """Named curves over at most `points` points (an even number): how each sums up, and its columns."""

    def __init__(self, curves: Mapping[str, tuple[str, int]], points: int) -> None:
        self._how, self._points = {name: how for name, (how, _) in curves.items()}, points
        self.stride = 1  # rounds that a point stands for
        self.version = 0  # goes up with every change
        self._values = {name: np.full((points, n), np.nan) for name, (_, n) in curves.items()}
        self._changed = np.zeros(points, dtype=np.int64)  # the version in which each point last changed

    def note(self, name: str, t: int, column: int | slice, value: float | Values) -> None:
        """Note the value of a curve in round t; rounds of one that is summed up by its last come in order."""
        while (t - 1) // self.stride >= self._points:
            self._merge()
        point = (t - 1) // self.stride
        here = self._values[name][point]
        here[column] = value if self._how[name] == LAST else np.fmax(here[column], value)
        self.version += 1
        self._changed[point] = self.version

    def of(self, name: str, rounds: int) -> Values:
        """Return a curve (points, n) of the first `rounds` rounds; NaN where there is none."""
        return self._values[name][: self.count(rounds)]

    def rounds(self, rounds: int) -> NDArray[np.int64]:
        """Return the round that each point ends with, where so many are complete."""
        ends = np.arange(1, self.count(rounds) + 1, dtype=np.int64) * self.stride
        return np.minimum(ends, rounds)

    def count(self, rounds: int) -> int:
        """Return how many points so many rounds take."""
        return min(-(-rounds // self.stride), self._points)

    def first_changed(self, since: int) -> int:
        """Return the first point that is another one than in version `since`."""
        changed = np.flatnonzero(self._changed > since)
        return int(changed[0]) if len(changed) else self._points

    def _merge(self) -> None:
        """Let every point stand for twice as many rounds."""
        half = self._points // 2
        for name, values in self._values.items():
            first, second = values[::2], values[1::2]
            both = np.fmax(first, second) if self._how[name] == MOST else _later(first, second)
            values[:half], values[half:] = both, np.nan
        self.stride *= 2
        self.version += 1
        self._changed[:half], self._changed[half:] = self.version, 0


def _later(first: Values, second: Values) -> Values:
    """Return the second of two values, the first where there is no second."""
    return np.where(np.isnan(second), first, second)
