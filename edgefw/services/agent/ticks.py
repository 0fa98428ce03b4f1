"""When the rounds of an agent begin: on the ticks of its pace."""

from __future__ import annotations

import asyncio

from edgefw.services.clock import loop_time


class Ticks:
    """Ticks that stand `pace` seconds apart; with a pace of 0 there are none, and nobody waits.

    A timer that goes off late moves the round that it begins, and no later one: else a pace of 250 ms would
    become one of 253 ms. A tick is missed where the round before took longer than the pace. It is not caught
    up with: the next one stands a pace from there.
    """

    def __init__(self, pace: float) -> None:
        self._pace = pace
        self._next: float | None = None  # before they begin

    def begin(self) -> None:
        """Let the first tick be a pace from now, if it was not before."""
        if self._next is None:
            self._next = loop_time() + self._pace

    async def reach(self) -> float | None:
        """Wait for the next tick; return by how many seconds it was missed, None if it was not."""
        if not self._pace or self._next is None:
            await asyncio.sleep(0)
            return None
        late = loop_time() - self._next
        await asyncio.sleep(max(0.0, -late))
        self._next = (loop_time() if late > 0 else self._next) + self._pace
        return late if late > 0 else None
