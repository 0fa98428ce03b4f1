"""An event loop whose clock is its own: it stands while anybody has work, and jumps to the next timer.

Theory of operation. Asyncio's own loop asks its selector to wait until the next timer is due. This one's
selector does not wait: it moves the clock there. The clock counts whole nanoseconds, so that a moment written
to disk and read again is the same moment. Timers that are due at the same moment go off in the order in which
they were set, which asyncio leaves open: whoever looks from outside sets timers too, and would change it.
Nothing else of asyncio is touched: tasks and futures are what they are everywhere, and run in the order in
which they became ready.

Libraries that do this (looptime, simloop) were looked at: one counts in steps and is made for test functions,
the other has its own idea of ready tasks. What is needed is the half page below.
"""

from __future__ import annotations

import asyncio
import heapq
import selectors
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from edgefw.errors import EdgefwError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

T = TypeVar("T")
SECOND = 10**9  # nanoseconds
START = 1000 * SECOND  # what the clock says at first: like a machine that is up for a while


class StandstillError(EdgefwError):
    """Everybody waits for somebody, and no timer is set: nothing will ever happen again."""


class _Timer(asyncio.TimerHandle):
    """A timer that knows how many were set before it."""

    __slots__ = ("number",)

    number: int

    def __lt__(self, other: object) -> bool:
        """Say whether it goes off before another one, set by the same loop."""
        assert isinstance(other, _Timer)  # noqa: S101 - the loop sets no others
        mine, its = self.when(), other.when()
        return mine < its or (mine == its and self.number < other.number)


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code that waits for time and for tasks alone; what waits for sockets or threads is left behind.

    `turned` is called at every turn, by whoever wants to look from outside; it must leave the loop as it is.
    """

    def __init__(self, turned: Callable[[], None] = lambda: None) -> None:
        self._now, self._seconds = START, START / SECOND
        self.turned = turned
        self._numbers = count()
        super().__init__(_Jump(self))

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Set a timer, as asyncio does; but one of ours."""
        timer = _Timer(when, callback, args, self, context)
        timer.number = next(self._numbers)
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]  # asyncio's own
        timer._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001
        return timer

    def time(self) -> float:
        """Return the seconds of the virtual clock, which are asked for far more often than they change."""
        return self._seconds

    def time_ns(self) -> int:
        """Return the nanoseconds of the virtual clock."""
        return self._now

    def jump(self, seconds: float) -> None:
        """Let time pass: to the nanosecond nearest to that moment, at which asyncio takes a timer for due."""
        self._now = max(self._now, round((self.time() + seconds) * SECOND))
        self._seconds = self._now / SECOND


class _Jump(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.turned()
        if timeout == 0:  # there is work: who calls from another thread has put more of it there already
            return []
        events = super().select(0)  # empties the pipe by which others wake loops that sleep
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
