"""How large a feedback is among the last ones of its link: what an adversary aims by."""

from __future__ import annotations

import bisect
from collections import OrderedDict

RANKED = 100  # norms that a new one is compared with
WITHDRAWN = 1024  # feedbacks that may be taken back at once: as many as wait for the disk together


class Ranking:
    """The norms of a link's last feedbacks. One that is taken back leaves no trace.

    >>> ranking = Ranking()
    >>> ranking.add(1, 5.0)
    >>> ranking.add(2, 7.0)
    >>> ranking.rank(6.0)
    0.5
    >>> ranking.remove(2)
    >>> ranking.rank(6.0)
    1.0
    """

    def __init__(self) -> None:
        self._last: OrderedDict[int, float] = OrderedDict()  # norms by round, the oldest first,
        self._ordered: list[float] = []  # and the same by size
        self._before: OrderedDict[int, float] = OrderedDict()  # those that newer ones have pushed out

    def rank(self, norm: float) -> float:
        """Return the share of the last norms that are smaller; 0 where there are none."""
        ordered = self._ordered
        return bisect.bisect_left(ordered, norm) / len(ordered) if ordered else 0.0

    def add(self, s: int, norm: float) -> None:
        """Take in the norm of round s."""
        if len(self._last) == RANKED:
            oldest, pushed = self._last.popitem(last=False)
            self._leave(pushed)
            self._before[oldest] = pushed
            if len(self._before) > WITHDRAWN:
                self._before.popitem(last=False)
        self._last[s] = norm
        bisect.insort(self._ordered, norm)

    def remove(self, s: int) -> None:
        """Take back the norm of round s: the one that it pushed out counts again."""
        norm = self._last.pop(s, None)
        if norm is None:
            self._before.pop(s, None)
            return
        self._leave(norm)
        if self._before:
            newest, back = self._before.popitem()
            self._last[newest] = back
            self._last.move_to_end(newest, last=False)
            bisect.insort(self._ordered, back)

    def _leave(self, norm: float) -> None:
        del self._ordered[bisect.bisect_left(self._ordered, norm)]
