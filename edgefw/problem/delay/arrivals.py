"""Feedback of one link counted in rounds: in which round it arrives.

Without a fault the feedback of round s arrives in round s. All is known beforehand: a fault of `later` acts
on what is held in the rounds of its window, so the run is looked at piece by piece, from where one of them
begins or ends to where the next one does.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from edgefw.problem.delay.acting import Acting, OnLink, Span, acting, dropped, released
from edgefw.problem.delay.faults import Blackout, Latency, Ramp, Rounds
from edgefw.problem.delay.units import LONGEST, NEVER, completed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


def arrivals(
    own: Sequence[OnLink],
    later: Sequence[OnLink],
    rounds: NDArray[np.int64],
    *,
    T: int,
    ranks: NDArray[np.float64] | None = None,
    round_seconds: float | None = None,
    now: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the arrival rounds (m,) of feedback of these rounds, NEVER if no end is known; and what is lost.

    `ranks` are those of its norms, None if nobody knows them. `round_seconds` is for faults in seconds. What
    is held in round `now` comes then at the earliest.
    """
    arrival, lost = np.full(len(rounds), NEVER), np.zeros(len(rounds), dtype=np.bool_)
    held = np.ones(len(rounds), dtype=np.bool_)
    for begin, stop in pairwise([now, *(cut for cut in _cuts(later) if cut > now), NEVER]):
        faults = [*_of_rounds(own, rounds, ranks), *_of_piece(later, rounds, ranks, begin)]
        due = rounds + np.minimum(_added(faults, rounds, round_seconds), LONGEST)
        due = released(due, faults, start=0, end=T, least=begin)
        taken = held & dropped(faults, rounds) & (rounds < stop)
        comes = held & ~taken & (due < stop)
        arrival, lost, held = np.where(comes, due, arrival), lost | taken, held & ~taken & ~comes
    return arrival, lost


def _of_rounds(
    own: Iterable[OnLink], rounds: NDArray[np.int64], ranks: NDArray[np.float64] | None
) -> list[Acting]:
    """Return faults that act on the feedback of the rounds in their windows."""
    return [acting(each, each.fault.meets(each.stream, rounds), _window(each), rounds, ranks) for each in own]


def _of_piece(
    later: Iterable[OnLink], rounds: NDArray[np.int64], ranks: NDArray[np.float64] | None, now: int
) -> list[Acting]:
    """Return faults that act on what is held in round `now`, and blackouts: they know their rounds."""
    return [
        acting(each, each.fault.gate(each.stream, rounds), (first, stop), rounds, ranks)
        for each in later
        for first, stop in [_window(each)]
        if isinstance(each.fault, Blackout) or first <= now < stop
    ]


def _cuts(later: Iterable[OnLink]) -> list[int]:
    """Return the rounds in which a fault begins or ends to act on what is held."""
    windows = [_window(each) for each in later if not isinstance(each.fault, Blackout)]
    return sorted({int(edge) for window in windows for edge in window if 0 < edge < NEVER})


def _window(each: OnLink) -> Span:
    """Return a fault's window as rounds [first, stop)."""
    first, stop = each.fault.window or (0, None)
    return first, NEVER if stop is None else stop


def _added(
    faults: Iterable[Acting], rounds: NDArray[np.int64], round_seconds: float | None
) -> NDArray[np.int64]:
    """Return the rounds (m,) that faults add: delay - 1."""
    unit = 1.0 if round_seconds is None else round_seconds
    extra, seconds = np.zeros(len(rounds), dtype=np.int64), np.zeros(len(rounds))
    for fault, stream, met, _ in faults:
        if isinstance(fault, Latency):
            seconds += np.where(met, fault.seconds(stream, rounds), 0.0)
        elif isinstance(fault, Ramp) and fault.unit == "seconds":
            seconds += np.where(met, fault.seconds(rounds, unit), 0.0)
        elif isinstance(fault, Ramp):
            extra += np.where(met, fault.added(rounds), 0)
        elif isinstance(fault, Rounds):
            extra += np.where(met, fault.added(stream, rounds), 0)
    return extra + completed(seconds, unit)
