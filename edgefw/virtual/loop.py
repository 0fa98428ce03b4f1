"""An event loop whose clock is its own: it stands while anybody has work, and jumps to the next timer.

Theory of operation. Asyncio's own loop asks its selector to wait until the next timer is due. This one's
selector does not wait: it moves the clock there. The clock counts whole nanoseconds, so that a moment written
to disk and read again is the same moment. Nothing else of asyncio is touched: timers, tasks and futures are
what they are everywhere, and run in the order in which they became ready.

Libraries that do this (looptime, simloop) were looked at: one counts in steps and is made for test functions,
the other has its own idea of ready tasks. What is needed is the half page below.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

from edgefw.errors import EdgefwError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")
SECOND = 10**9  # nanoseconds
START = 1000 * SECOND  # what the clock says at first: like a machine that is up for a while


class StandstillError(EdgefwError):
    """Everybody waits for somebody, and no timer is set: nothing will ever happen again."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code that waits for time and for tasks alone; what waits for sockets or threads is left behind.

    `turned` is called at every turn, by whoever wants to look from outside; it must leave the loop as it is.
    """

    def __init__(self, turned: Callable[[], None] = lambda: None) -> None:
        self._now = START
        self.turned = turned
        super().__init__(_Jump(self))

    def time(self) -> float:
        """Return the seconds of the virtual clock."""
        return self._now / SECOND

    def time_ns(self) -> int:
        """Return the nanoseconds of the virtual clock."""
        return self._now

    def jump(self, seconds: float) -> None:
        """Let time pass: to the nanosecond nearest to that moment, at which asyncio takes a timer for due."""
        self._now = max(self._now, round((self.time() + seconds) * SECOND))


class _Jump(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.turned()
        events = super().select(0)  # somebody in another thread may have called
        if not events:
            if timeout is None:
                raise StandstillError(f"nothing will ever happen again: {_waiting(self._loop)}")
            self._loop.jump(timeout)
        return events


def _waiting(loop: VirtualLoop) -> str:
    """Return who waits, in one line."""
    names = sorted(task.get_name() for task in asyncio.all_tasks(loop))
    return f"{len(names)} tasks wait for each other ({', '.join(names[:5])})"


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run some work to its end; hours of its time take no time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
