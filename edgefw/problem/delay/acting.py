"""Faults at work on the feedback of one link: what they do once it is known which of it they act on.

The same for both clocks: moments are rounds (int64, NEVER = no end known) or seconds (float64, infinite).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefw.problem.delay.adversary import Adversary
from edgefw.problem.delay.faults import Blackout, Drop, Fault, Latency

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from edgefw.problem.delay.adversary import Moments
    from edgefw.problem.delay.draws import Stream

Span = tuple[float, float]
"""Moments, [begin, end); either may be infinite."""

ALWAYS: Span = (-math.inf, math.inf)
BLOCK = 64  # rounds whose latencies are drawn together: one costs as much as all of them


@dataclass(frozen=True)
class OnLink:
    """A fault on one link, the numbers it draws there, and the span of time in which it is in force.

    A window in rounds is the fault's own; both must hold. By the wall clock a blackout has its span alone.
    """

    fault: Fault
    stream: Stream
    span: Span = ALWAYS
    _ahead: dict[int, NDArray[np.float64]] = field(default_factory=dict, compare=False, repr=False)

    def latency(self, s: int) -> float:
        """Return the seconds that this fault, a Latency, adds to round s; drawn a block at a time."""
        block, place = divmod(s - 1, BLOCK)
        if block not in self._ahead:
            if len(self._ahead) >= 2:  # rounds come about in order: an older block is done with
                self._ahead.clear()
            self._ahead[block] = self._block(np.arange(block * BLOCK + 1, (block + 1) * BLOCK + 1))
        return float(self._ahead[block][place])

    def _block(self, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
        assert isinstance(self.fault, Latency)  # noqa: S101 - as `latency` says
        return np.where(self.fault.meets(self.stream, rounds), self.fault.seconds(self.stream, rounds), 0.0)


class Acting(NamedTuple):
    """A fault, which feedback (m,) it acts on, and from when to when: to a blackout that is what counts."""

    fault: Fault
    stream: Stream
    met: NDArray[np.bool_]
    span: Span


def acting(
    each: OnLink,
    met: NDArray[np.bool_],
    span: Span,
    rounds: NDArray[np.int64],
    ranks: NDArray[np.float64] | None,
) -> Acting:
    """Return a fault that acts on feedback of these rounds and ranks where it is `met`, all (m,)."""
    if isinstance(each.fault, Adversary):
        met = met & each.fault.aims(each.stream, rounds, ranks)
    return Acting(each.fault, each.stream, met, span)


def released(
    due: Moments, faults: Sequence[Acting], *, start: float, end: float, least: float | None = None
) -> Moments:
    """Return when feedback (m,) comes that would be due in `due`: past blackouts, as adversaries choose.

    Nothing comes before `least`, nor inside a blackout. See `Adversary.release` for `start` and `end`.
    """
    outages = [each for each in faults if isinstance(each.fault, Blackout)]
    due = _past(due, outages)
    for fault, _, met, _ in faults:
        if isinstance(fault, Adversary):
            due = np.where(met, fault.release(due, start=start, end=end), due)
    return _past(due if least is None else np.maximum(due, least), outages)


def _past(due: Moments, outages: Sequence[Acting]) -> Moments:
    """Return the moments, those inside an outage moved to its end, until none is inside one."""
    while outages:
        # Ends: a release is past its outage for good, so each of them moves it once at most.
        before = due
        for _, _, met, (begin, stop) in outages:
            due = np.where(met & (due >= begin) & (due < stop), stop, due)
        if np.array_equal(before, due):
            break
    return due


def dropped(faults: Iterable[Acting], rounds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which feedback (m,) is taken for good."""
    lost = np.zeros(len(rounds), dtype=np.bool_)
    for fault, _, met, _ in faults:
        if isinstance(fault, Drop):
            lost |= met
        elif isinstance(fault, Adversary):
            lost |= met & fault.takes(rounds)
    return lost
