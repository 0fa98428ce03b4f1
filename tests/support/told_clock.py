"""A clock that stands still until a test moves it: an event loop's, and so that of the services in it.

What the clock brings about happens in the loop's next rounds. So wait for it as for anything else; and to see
that something does not happen, wait for something else that the same moment brings about.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from edgefw.delays.moments import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class Clock:
    """It begins with the present, since a journal relates it to real time.

    It counts whole nanoseconds, as real clocks do: what is due at the nearest nanosecond would never come due
    on a clock that stands a little before it.
    """

    def __init__(self) -> None:
        self.now = moment(time.monotonic())

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now = moment(self.now + seconds)

    def run(self, test: Coroutine[Any, Any, None]) -> None:
        """Run a test in a loop that goes by this clock."""
        with asyncio.Runner(loop_factory=lambda: ToldLoop(lambda: self.now)) as runner:
            runner.run(test)


class ToldLoop(asyncio.SelectorEventLoop):
    """An event loop that is told what the time is."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._now = now

    def time(self) -> float:
        """Return the time, in seconds."""
        return self._now()
