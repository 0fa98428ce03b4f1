"""When the feedback of one link is due: the faults that act on it, put together.

Theory of operation. Two sets of faults act on a feedback that is held: `own`, that it was accepted under, and
`later`, that act on whatever is held while they are there. Under either clock,

1. what adds up is added: latencies, ramps, rounds;
2. what is then due inside a blackout is held to its end, until no blackout holds it;
3. adversaries, in order, see when feedback would come and choose when it does; a blackout holds that, too;
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

from edgefw.problem.delay.acting import ALWAYS, Acting, OnLink, Span, acting, dropped, released
from edgefw.problem.delay.arrivals import arrivals
from edgefw.problem.delay.faults import Blackout, Latency, Ramp
from edgefw.problem.delay.units import LONGEST, NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["ALWAYS", "Batch", "Dues", "OnLink", "Span", "latency_due", "round_dues", "wall_dues"]


class Batch(NamedTuple):
    """Feedback of one link, (m,) each: the round, when it was accepted, the rank of its norm in [0, 1]."""

    rounds: NDArray[np.int64]
    accepted: NDArray[np.float64]
    ranks: NDArray[np.float64]


class Dues(NamedTuple):
    """When feedback (m,) is due, infinite where no end is known yet, and whether it is dropped for good."""

    due: NDArray[np.float64]
    dropped: NDArray[np.bool_]


def latency_due(own: Sequence[OnLink], later: Sequence[OnLink], s: int, accepted: float) -> float | None:
    """Return what `wall_dues` gives for one feedback on which latencies alone act; None if there is more.

    The usual case, at a tenth of the cost.
    """
    if later:
        return None
    seconds = 0.0
    for each in own:
        if not isinstance(each.fault, Latency):
            return None
        if each.span[0] <= accepted < each.span[1]:
            seconds += each.latency(s)
    return accepted + min(seconds, LONGEST)


def wall_dues(
    own: Sequence[OnLink],
    later: Sequence[OnLink],
    batch: Batch,
    *,
    now: float,
    start: float,
    ended: bool,
    round_seconds: float | None,
) -> Dues:
    """Return when feedback of one link is due by the clock, as things stand `now`.

    `start` is the run's, `ended` whether the link's last round has been submitted. While a blackout of
    `later` is in force nothing is due before its end, not even what something else held too long.
    """
    if not own and not later:
        return Dues(batch.accepted.copy(), np.zeros(len(batch.rounds), dtype=np.bool_))
    faults = [*_on_accepted(own, batch), *_on_held(later, batch, now)]
    due = batch.accepted + np.minimum(_seconds(faults, batch, round_seconds), LONGEST)
    due = released(due, faults, start=start, end=-math.inf if ended else math.inf)
    lost = dropped(faults, batch.rounds)
    return Dues(np.where(lost, math.inf, due), lost)


def round_dues(own: Sequence[OnLink], later: Sequence[OnLink], batch: Batch, *, T: int, now: int = 0) -> Dues:
    """Return in which rounds feedback of one link is due, in a run of T: s + delay - 1.

    `now` is the first round that has not been collected, before which nothing that is held can come.
    """
    if not own and not later:
        due = np.maximum(batch.rounds, now).astype(np.float64)
        return Dues(due, np.zeros(len(batch.rounds), dtype=np.bool_))
    arrival, lost = arrivals(own, later, batch.rounds, T=T, ranks=batch.ranks, now=now)
    return Dues(np.where(arrival >= NEVER, math.inf, arrival), lost)


def _on_accepted(own: Iterable[OnLink], batch: Batch) -> list[Acting]:
    """Return faults that act on what was accepted while they were in force."""
    faults = []
    for each in own:
        met = each.fault.meets(each.stream, batch.rounds)
        if not isinstance(each.fault, Blackout):
            met &= (batch.accepted >= each.span[0]) & (batch.accepted < each.span[1])
        faults.append(acting(each, met, each.span, batch.rounds, batch.ranks))
    return faults


def _on_held(later: Iterable[OnLink], batch: Batch, now: float) -> list[Acting]:
    """Return faults that act on what is held now, and the blackouts to come."""
    faults = []
    for each in later:
        begin, stop = each.span
        there, outage = begin <= now < stop, isinstance(each.fault, Blackout)
        if there or outage:
            span = (-math.inf, stop) if there and outage else each.span  # nothing held is due before now
            met = each.fault.gate(each.stream, batch.rounds)
            faults.append(acting(each, met, span, batch.rounds, batch.ranks))
    return faults


def _seconds(faults: Iterable[Acting], batch: Batch, round_seconds: float | None) -> NDArray[np.float64]:
    """Return the seconds (m,) that faults add."""
    seconds = np.zeros(len(batch.rounds))
    for fault, stream, met, span in faults:
        if isinstance(fault, Latency):
            seconds += np.where(met, fault.seconds(stream, batch.rounds), 0.0)
        elif isinstance(fault, Ramp):
            seconds += np.where(met, fault.level(_elapsed(fault, span, batch, round_seconds)), 0.0)
    return seconds


def _elapsed(ramp: Ramp, span: Span, batch: Batch, round_seconds: float | None) -> NDArray[np.float64]:
    """Return the seconds since a ramp's beginning: real ones, unless it begins with a round."""
    if ramp.window is not None and round_seconds is not None:
        return ramp.elapsed(batch.rounds) * round_seconds
    return np.maximum(batch.accepted - span[0], 0.0)
