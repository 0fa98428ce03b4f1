"""Moments of the monotonic clock as real time on disk, and back.

In memory a moment is a float of the event loop's clock, which means nothing to another boot of the machine;
on disk it is an integer, nanoseconds since 1970. The difference between the two is fixed once for a boot:
when the system's clock is set while a broker runs or restarts, no due time moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgefw.services.machine import Clocks

SECOND = 10**9  # nanoseconds


@dataclass(frozen=True)
class Timeline:
    """Real time less monotonic time, in nanoseconds, in one boot of the machine.

    A moment that is whole nanoseconds, as clocks and due times are, comes back from disk as it was; any other
    is rounded up: nothing is due earlier than it was.

    >>> timeline = Timeline(offset=1_700_000_000 * SECOND, boot=None)
    >>> timeline.real(2.5)
    1700000002500000000
    >>> timeline.moment(1_700_000_002_500_000_000)
    2.5
    """

    offset: int
    boot: str | None

    def real(self, moment: float) -> int:
        """Return a moment of the monotonic clock, which is finite, as real nanoseconds."""
        nearest = round(moment * SECOND)
        if nearest / SECOND == moment:
            return self.offset + nearest
        numerator, denominator = moment.as_integer_ratio()
        return self.offset - (-numerator * SECOND // denominator)

    def moment(self, real: int) -> float:
        """Return real nanoseconds as a moment of the monotonic clock; negative if before this boot."""
        moment = (real - self.offset) / SECOND
        return moment if self.real(moment) >= real else math.nextafter(moment, math.inf)


def timeline_now(clocks: Clocks) -> Timeline:
    """Return the timeline that begins now."""
    return Timeline(clocks.time_ns() - clocks.monotonic_ns(), clocks.boot())


def timeline_again(stored: Timeline, clocks: Clocks) -> Timeline:
    """Return the stored timeline if the machine has not been booted since, else a new one."""
    now = timeline_now(clocks)
    return stored if stored.boot is not None and stored.boot == now.boot else now
