"""An event loop whose clock goes on only while nobody in it has work: on a slow machine no one is late.

What waits for a timer waits for real, so that others (a browser, a test) have the time that they would have;
what computes takes no time at all. So services keep every pace that they are given.
"""

from __future__ import annotations

import asyncio
import selectors
import time

from edgefw.services.machine import Clocks, InlineMachine
from edgefw.virtual.machine import BOOT, SINCE

SECOND = 10**9  # nanoseconds
START = 1000 * SECOND


class IdleLoop(asyncio.SelectorEventLoop):
    """Its time is that which it has spent waiting."""

    def __init__(self) -> None:
        self._now = START
        super().__init__(_Waiting(self))

    def time(self) -> float:
        """Return the seconds of its clock."""
        return self._now / SECOND

    def time_ns(self) -> int:
        """Return the nanoseconds of its clock."""
        return self._now

    def waited(self, seconds: float) -> None:
        """Let time pass."""
        self._now = round((self.time() + seconds) * SECOND)

    def machine(self) -> InlineMachine:
        """Return a machine without threads and processes whose clocks are this one."""
        return InlineMachine(Clocks(self.time_ns, lambda: SINCE + self.time_ns(), lambda: BOOT))


class _Waiting(selectors.DefaultSelector):
    def __init__(self, loop: IdleLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait; what was waited is never more than what was asked for, or timers would be late."""
        begin = time.monotonic()
        events = super().select(timeout)
        waited = time.monotonic() - begin
        if timeout is not None:
            self._loop.waited(min(waited, timeout) if events else max(timeout, 0.0))
        elif events:
            self._loop.waited(waited)
        return events
