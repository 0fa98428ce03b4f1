"""How long to wait before the next try: a little at first, then longer, never long."""

from __future__ import annotations

import asyncio

FIRST, LONGEST = 0.05, 1.0


class Backoff:
    """Pauses that double, from FIRST to LONGEST seconds, until something has worked again."""

    def __init__(self) -> None:
        self._next = FIRST

    def reset(self) -> None:
        """Begin with the shortest pause again: something has worked."""
        self._next = FIRST

    async def pause(self) -> None:
        """Wait before the next try."""
        await asyncio.sleep(self._next)
        self._next = min(2 * self._next, LONGEST)
