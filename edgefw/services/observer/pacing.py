"""How long rounds really take."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW = 20  # rounds over which the mean is taken


class Pacing:
    """The mean length of the last rounds; `now` is the clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: deque[tuple[int, float]] = deque(maxlen=WINDOW + 1)  # rounds, and when each was complete

    def completed(self, t: int) -> None:
        """Note that all have played round t. Noting it again changes nothing."""
        if t > (self._seen[-1][0] if self._seen else 0):
            self._seen.append((t, self._now()))

    @property
    def rounds(self) -> int:
        """Over how many rounds the mean is taken."""
        return max(0, len(self._seen) - 1)

    def seconds(self) -> float:
        """Return how long a round took, of the last ones; not a number before the second."""
        if len(self._seen) < 2:
            return math.nan
        (first, since), (last, until) = self._seen[0], self._seen[-1]
        return (until - since) / (last - first)
