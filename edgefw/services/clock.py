"""What time it is for a service: the event loop's, and nobody else's.

A service that asks its loop runs in real time on a real loop and in virtual time on a virtual one, and never
knows. uvloop looks at the clock once a turn, in whole milliseconds: feedback would be accepted a little in
the past, and be delivered early by as much. So services run on a loop that looks each time it is asked.
"""

from __future__ import annotations

import asyncio
from time import monotonic

import uvloop

EXACT = 1e-9  # seconds: a virtual clock counts in these, and a timer is due when it is that near


class PreciseLoop(uvloop.Loop):
    """uvloop, with the system's own monotonic clock; its timers still count milliseconds."""

    timer_grain = 1e-3

    def time(self) -> float:
        """Return the seconds of the monotonic clock, now."""
        return monotonic()


def loop_time() -> float:
    """Return the time of the loop that is running."""
    return asyncio.get_running_loop().time()


def timer_grain() -> float:
    """Return the seconds that timers of the loop that is running are counted in; 0 if they are exact."""
    return getattr(asyncio.get_running_loop(), "timer_grain", 0.0)


async def reached(moment: float) -> None:
    """Wait until the loop's time is `moment`, which it then is: a timer that is early is set again."""
    grain = timer_grain()
    while (left := moment - loop_time()) > EXACT:  # noqa: ASYNC110 - time tells nobody that it has come
        await asyncio.sleep(max(left, grain))


def completed() -> asyncio.Future[None]:
    """Return a future of the loop that is running, which has its result already."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.set_result(None)
    return future
