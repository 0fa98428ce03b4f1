"""What is due when: a queue of keys (agent, round), released in due order and never early."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

Key = tuple[int, int]
"""An agent and a round."""

_SPARE = 64


class DueQueue:
    """Keys by their due times, in whatever unit the caller counts: seconds or rounds.

    >>> queue = DueQueue()
    >>> queue.push((1, 4), 2.5)
    >>> queue.push((0, 9), 2.5)
    >>> queue.push((0, 7), 8.0)
    >>> queue.pop_due(3.0), queue.next_due()
    ([(0, 9), (1, 4)], 8.0)
    """

    def __init__(self) -> None:
        self._due: dict[Key, float] = {}
        # May hold more than is queued: what was removed or moved stays until it is met or there is too much.
        self._heap: list[tuple[float, Key]] = []

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: Key) -> bool:
        return key in self._due

    def push(self, key: Key, due: float) -> None:
        """Queue a key; one that is queued already moves to its new due time."""
        if math.isnan(due):
            raise InputError(f"agent {key[0]}, round {key[1]}: a due time has to be a number")
        if self._due.get(key) != due:
            self._due[key] = due
            heapq.heappush(self._heap, (due, key))
            if len(self._heap) > 2 * len(self._due) + _SPARE:
                self._rebuild()

    def push_all(self, entries: Iterable[tuple[float, Key]]) -> None:
        """Queue or move about all keys that there are, each with its due time."""
        self._due.update((key, due) for due, key in entries)
        self._rebuild()

    def remove(self, key: Key) -> bool:
        """Take a key out; return whether it was in."""
        return self._due.pop(key, None) is not None

    def next_due(self) -> float | None:
        """Return the earliest due time, or None where nothing is queued."""
        while self._heap and not self._stands(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> list[Key]:
        """Take out and return every key with due <= now: by due time, then by agent, then by round."""
        released = []
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            if self._stands(entry):
                del self._due[entry[1]]
                released.append(entry[1])
        return released

    def _stands(self, entry: tuple[float, Key]) -> bool:
        due, key = entry
        return self._due.get(key) == due

    def _rebuild(self) -> None:
        self._heap = [(due, key) for key, due in self._due.items()]
        heapq.heapify(self._heap)
