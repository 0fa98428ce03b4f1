"""Messages of one link counted in rounds: in which round each arrives.

Without a fault the feedback of round s arrives in round s. All is known beforehand: a fault of `later` acts
on what is held in the rounds of its window, so the run is looked at piece by piece, from where one of them
begins or ends to where the next one does.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from edgefw.delays.acting import UNKNOWN, Acting, OnLink, acting, added, dropped, released
from edgefw.delays.fault import Axis
from edgefw.delays.units import LONGEST, NEVER, completed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from edgefw.delays.fault import Rules

    Ranks = NDArray[np.float64] | None


def arrivals(
    own: Sequence[OnLink],
    later: Sequence[OnLink],
    rounds: NDArray[np.int64],
    rules: Rules,
    *,
    ranks: Ranks = None,
    now: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the arrival rounds (m,) of messages of these rounds, NEVER if no end is known; and what is lost.

    `ranks` are those of their norms, None if nobody knows them. What is held in round `now` comes then at the
    earliest. Under the wall clock, times become rounds by the pace.
    """
    arrival, lost = np.full(len(rounds), NEVER), np.zeros(len(rounds), dtype=np.bool_)
    held = np.ones(len(rounds), dtype=np.bool_)
    axis = Axis(in_rounds=True, start=0, end=rules.rounds, round_seconds=rules.round_seconds)
    for begin, stop in pairwise([now, *(cut for cut in _cuts(later) if cut > now), NEVER]):
        faults = [*_of_rounds(own, rounds, ranks), *_of_piece(later, rounds, ranks, begin)]
        due = released(rounds + np.minimum(_added(faults, rules, len(rounds)), LONGEST), faults, axis, begin)
        taken = held & dropped(faults, len(rounds)) & (rounds < stop)
        comes = held & ~taken & (due < stop)
        arrival, lost, held = np.where(comes, due, arrival), lost | taken, held & ~taken & ~comes
    return arrival, lost


def _of_rounds(own: Iterable[OnLink], rounds: NDArray[np.int64], ranks: Ranks) -> list[Acting]:
    """Return faults that act on the messages of the rounds in their windows."""
    return [
        acting(
            each,
            each.sees(rounds, _elapsed(each, rounds), ranks),
            each.meets(rounds),
            (each.first, each.stop),
        )
        for each in own
    ]


def _of_piece(later: Iterable[OnLink], rounds: NDArray[np.int64], ranks: Ranks, now: int) -> list[Acting]:
    """Return faults that act on what is held in round `now`, and blackouts: they know their rounds."""
    return [
        acting(
            each, each.sees(rounds, _elapsed(each, rounds), ranks), each.gate(rounds), (each.first, each.stop)
        )
        for each in later
        if each.fault.about_releases or each.first <= now < each.stop
    ]


def _cuts(later: Iterable[OnLink]) -> list[int]:
    """Return the rounds in which a fault begins or ends to act on what is held."""
    windows = [(each.first, each.stop) for each in later if not each.fault.about_releases]
    return sorted({edge for window in windows for edge in window if 0 < edge < NEVER})


def _elapsed(each: OnLink, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how long each round comes after the fault's first, in the clock's unit; at least 0."""
    if not each.fault.climbs:
        return UNKNOWN
    since = np.maximum(rounds - (each.first or 1), 0).astype(np.float64)
    return since if each.rules.clock == "rounds" else since * (each.rules.round_seconds or 1.0)


def _added(faults: Iterable[Acting], rules: Rules, m: int) -> NDArray[np.int64]:
    """Return the rounds (m,) that faults add: delay - 1."""
    total = added(faults, rules.clock, m)
    return total if rules.clock == "rounds" else completed(total, rules.round_seconds or 1.0)
