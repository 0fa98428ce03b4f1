"""When the messages of one link are due: the faults that act on them, put together.

Theory of operation. Two sets of faults act on a message that is held: `own`, that it was accepted under, and
`later`, that act on whatever is held while they are there. Under either clock,

1. what adds up is added: latencies, ramps, rounds;
2. what is then due inside a blackout is held to its end, until no blackout holds it;
3. adversaries, in order, see when messages would come and choose when they do; a blackout holds that, too;
4. what a drop or a starving adversary takes is gone, whatever the others say.

A fault of `own` acts on what was accepted in its span of time, or submitted in the rounds of its window; one
of `later` on all that is held in that time or those rounds, and lets go at its end: what would have been due
by then is due at once. A blackout is about releases: it holds what is due in it, whenever that was accepted.
A ramp has the level of the moment of acceptance, and its first one for what is older than itself.

By the wall clock whoever asks says when `now` is, and asks again when a fault of `later` begins or ends. In
rounds all is known beforehand.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefw.delays.acting import UNKNOWN, Acting, OnLink, acting, added, dropped, released
from edgefw.delays.arrivals import arrivals
from edgefw.delays.fault import Axis, Rules
from edgefw.delays.units import LONGEST, NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


class Batch(NamedTuple):
    """Messages of one link, (m,) each: the round, when it was accepted, the rank of its norm in [0, 1]."""

    rounds: NDArray[np.int64]
    accepted: NDArray[np.float64]
    ranks: NDArray[np.float64]


class Dues(NamedTuple):
    """When messages (m,) are due, infinite where no end is known yet, and which are dropped for good."""

    due: NDArray[np.float64]
    dropped: NDArray[np.bool_]


def steady_due(own: Sequence[OnLink], later: Sequence[OnLink], s: int, accepted: float) -> float | None:
    """Return what `wall_dues` gives for one message on which steady faults alone act; None if there is more.

    The usual case, at a tenth of the cost.
    """
    if later:
        return None
    seconds = 0.0
    for each in own:
        if not each.fault.steady:
            return None
        if each.span[0] <= accepted < each.span[1]:
            seconds += each.added(s)
    return accepted + min(seconds, LONGEST)


def wall_dues(
    own: Sequence[OnLink],
    later: Sequence[OnLink],
    batch: Batch,
    rules: Rules,
    *,
    now: float,
    start: float,
    ended: bool,
) -> Dues:
    """Return when messages of one link are due by the clock, as things stand `now`.

    `start` is the run's, `ended` whether the link's last round has been submitted. While a blackout of
    `later` is in force nothing is due before its end, not even what something else held too long.
    """
    if not own and not later:
        return Dues(batch.accepted.copy(), np.zeros(len(batch.rounds), dtype=np.bool_))
    faults = [*_on_accepted(own, batch), *_on_held(later, batch, now)]
    end = -math.inf if ended else math.inf
    axis = Axis(in_rounds=False, start=start, end=end, round_seconds=rules.round_seconds)
    due = batch.accepted + np.minimum(added(faults, rules.clock, len(batch.rounds)), LONGEST)
    due = released(due, faults, axis)
    lost = dropped(faults, len(batch.rounds))
    return Dues(np.where(lost, math.inf, due), lost)


def round_dues(
    own: Sequence[OnLink], later: Sequence[OnLink], batch: Batch, rules: Rules, *, now: int = 0
) -> Dues:
    """Return in which rounds messages of one link are due: s + delay - 1.

    `now` is the first round that has not been collected, before which nothing that is held can come.
    """
    if not own and not later:
        due = np.maximum(batch.rounds, now).astype(np.float64)
        return Dues(due, np.zeros(len(batch.rounds), dtype=np.bool_))
    arrival, lost = arrivals(own, later, batch.rounds, rules, ranks=batch.ranks, now=now)
    return Dues(np.where(arrival >= NEVER, math.inf, arrival), lost)


def _on_accepted(own: Iterable[OnLink], batch: Batch) -> list[Acting]:
    """Return faults that act on what was accepted while they were in force."""
    faults = []
    for each in own:
        met = each.meets(batch.rounds)
        if not each.fault.about_releases:
            met &= (batch.accepted >= each.span[0]) & (batch.accepted < each.span[1])
        faults.append(
            acting(each, each.sees(batch.rounds, _elapsed(each, batch), batch.ranks), met, each.span)
        )
    return faults


def _on_held(later: Iterable[OnLink], batch: Batch, now: float) -> list[Acting]:
    """Return faults that act on what is held now, and the blackouts to come."""
    faults = []
    for each in later:
        begin, stop = each.span
        there, outage = begin <= now < stop, each.fault.about_releases
        if there or outage:
            span = (-math.inf, stop) if there and outage else each.span  # nothing held is due before now
            seen = each.sees(batch.rounds, _elapsed(each, batch), batch.ranks)
            faults.append(acting(each, seen, each.gate(batch.rounds), span))
    return faults


def _elapsed(each: OnLink, batch: Batch) -> NDArray[np.float64]:
    """Return the seconds since a fault's beginning: real ones, unless it begins with a round."""
    if not each.fault.climbs:
        return UNKNOWN
    length = each.rules.round_seconds
    if each.window is not None and length is not None:
        return np.maximum(batch.rounds - each.first, 0) * length
    return np.maximum(batch.accepted - each.span[0], 0.0)
