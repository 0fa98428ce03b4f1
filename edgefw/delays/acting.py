"""Faults at work on the messages of one link: what they do once it is known which of them they act on.

The same for both clocks: moments are rounds (int64, NEVER = no end known) or seconds (float64, infinite).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefw.delays.fault import Seen
from edgefw.delays.units import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from edgefw.delays.draws import Stream
    from edgefw.delays.fault import Axis, Fault, Moments, Rules, Window

Span = tuple[float, float]
"""Moments, [begin, end); either may be infinite."""

ALWAYS: Span = (-math.inf, math.inf)
UNKNOWN = np.zeros(0)  # how long ago a fault began, for one that does not ask
BLOCK = 64  # rounds whose amounts are drawn together: one costs as much as all of them


@dataclass(frozen=True, eq=False)
class OnLink:
    """A fault on one link, the numbers it draws there, and when it is in force.

    That is a span of time, or some rounds; both must hold where both are there. One that is about releases is
    in force for what comes in that time or those rounds, whenever it was sent.
    """

    fault: Fault
    stream: Stream
    rules: Rules
    span: Span = ALWAYS
    window: Window | None = None
    _ahead: dict[int, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    @property
    def first(self) -> int:
        """The first round of its window."""
        return 0 if self.window is None else self.window[0]

    @property
    def stop(self) -> int:
        """The first round after its window."""
        return NEVER if self.window is None or self.window[1] is None else self.window[1]

    def gate(self, rounds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these rounds' messages chance lets it act on."""
        return self.fault.gate(self.stream, rounds)

    def meets(self, rounds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these rounds' messages it acts on: in its window, and by chance."""
        met = self.gate(rounds)
        if self.window is not None and not self.fault.about_releases:
            met &= (rounds >= self.first) & (rounds < self.stop)
        return met

    def sees(
        self,
        rounds: NDArray[np.int64],
        elapsed: NDArray[np.float64],
        ranks: NDArray[np.float64] | None = None,
    ) -> Seen:
        """Return messages as this fault sees them."""
        return Seen(rounds, elapsed, ranks, self.stream)

    def added(self, s: int) -> float:
        """Return what this fault, a steady one, adds to round s; drawn a block at a time."""
        block, place = divmod(s - 1, BLOCK)
        if block not in self._ahead:
            if len(self._ahead) >= 2:  # rounds come about in order: an older block is done with
                self._ahead.clear()
            self._ahead[block] = self._block(np.arange(block * BLOCK + 1, (block + 1) * BLOCK + 1))
        return float(self._ahead[block][place])

    def _block(self, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
        amounts = self.fault.adds(self.sees(rounds, UNKNOWN), self.rules.clock)
        return np.where(self.meets(rounds), 0.0 if amounts is None else amounts, 0.0)


class Acting(NamedTuple):
    """A fault, the messages (m,) as it sees them, which of them it acts on, and from when to when."""

    fault: Fault
    seen: Seen
    met: NDArray[np.bool_]
    span: Span


def acting(each: OnLink, seen: Seen, met: NDArray[np.bool_], span: Span) -> Acting:
    """Return a fault that acts on messages where it is `met`, and is after them."""
    aims = each.fault.aims(seen)
    return Acting(each.fault, seen, met if aims is None else met & aims, span)


def added(faults: Iterable[Acting], clock: str, m: int) -> Moments:
    """Return what faults add to the delays of m messages, in the clock's unit."""
    total: Moments = np.zeros(m, dtype=np.float64 if clock == "wall" else np.int64)
    for fault, seen, met, _ in faults:
        amounts = fault.adds(seen, clock)
        if amounts is not None:
            total = total + np.where(met, amounts, 0)
    return total


def released(due: Moments, faults: Sequence[Acting], axis: Axis, least: float | None = None) -> Moments:
    """Return when messages (m,) come that would be due in `due`: past blackouts, as adversaries choose.

    Nothing comes before `least`, nor inside a blackout.
    """
    outages = [each for each in faults if each.fault.about_releases]
    due = _past(due, outages)
    for fault, _, met, _ in faults:
        held = fault.holds(due, axis)
        due = due if held is None else np.where(met, held, due)
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


def dropped(faults: Iterable[Acting], m: int) -> NDArray[np.bool_]:
    """Return which of m messages are taken for good."""
    lost = np.zeros(m, dtype=np.bool_)
    for fault, seen, met, _ in faults:
        taken = fault.takes(seen)
        if taken is not None:
            lost |= met & taken
    return lost
