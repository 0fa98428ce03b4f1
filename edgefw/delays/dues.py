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

By the wall clock (`wall_dues`) whoever asks says when `now` is, and asks again when a fault of `later` begins
or ends. In rounds (`arrivals`) all is known beforehand: the run is looked at piece by piece, from where a
fault of `later` begins or ends to where the next one does.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefw.delays.fault import Axis, Fault, Moments, Rules, Seen
from edgefw.delays.moments import moment, moments
from edgefw.delays.on_link import UNKNOWN, OnLink, Span
from edgefw.delays.units import LONGEST, NEVER, completed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


class Messages(NamedTuple):
    """Messages of one link, (m,) each: the round, when it was accepted, the rank of its norm in [0, 1].

    Where all is counted in rounds `accepted` is left empty; `ranks` are None where nobody knows them.
    """

    rounds: NDArray[np.int64]
    accepted: NDArray[np.float64]
    ranks: NDArray[np.float64] | None


class Dues(NamedTuple):
    """When messages (m,) are due, infinite where no end is known yet, and which are dropped for good."""

    due: NDArray[np.float64]
    dropped: NDArray[np.bool_]


class _Acting(NamedTuple):
    """A fault, the messages (m,) as it sees them, which of them it acts on, and from when to when."""

    fault: Fault
    seen: Seen
    met: NDArray[np.bool_]
    span: Span


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
    return moment(accepted + min(seconds, LONGEST))


def wall_dues(
    own: Sequence[OnLink],
    later: Sequence[OnLink],
    messages: Messages,
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
    m = len(messages.rounds)
    faults = [*_on_accepted(own, messages), *_on_held(later, messages, now)]
    end = -math.inf if ended else math.inf
    axis = Axis(in_rounds=False, start=start, end=end, round_seconds=rules.round_seconds)
    added = moments(messages.accepted + np.minimum(_added(faults, rules.clock, m), LONGEST))
    due = moments(_released(added, faults, axis).astype(np.float64))
    lost = _dropped(faults, m)
    return Dues(np.where(lost, math.inf, due), lost)


def round_dues(
    own: Sequence[OnLink], later: Sequence[OnLink], messages: Messages, rules: Rules, *, now: int = 0
) -> Dues:
    """Return in which rounds messages of one link are due: s + delay - 1.

    `now` is the first round that has not been collected, before which nothing that is held can come.
    """
    if not own and not later:
        due = np.maximum(messages.rounds, now).astype(np.float64)
        return Dues(due, np.zeros(len(due), dtype=np.bool_))
    arrival, lost = arrivals(own, later, messages._replace(accepted=UNKNOWN), rules, now=now)
    return Dues(np.where(arrival >= NEVER, math.inf, arrival), lost)


def arrivals(
    own: Sequence[OnLink], later: Sequence[OnLink], messages: Messages, rules: Rules, *, now: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rounds (m,) in which messages arrive, NEVER if no end is known; and which are lost.

    Without a fault the feedback of round s arrives in round s. What is held in round `now` comes then at the
    earliest. Under the wall clock, times become rounds by the pace.
    """
    rounds, m = messages.rounds, len(messages.rounds)
    arrival, lost, held = np.full(m, NEVER), np.zeros(m, dtype=np.bool_), np.ones(m, dtype=np.bool_)
    axis = Axis(in_rounds=True, start=0, end=rules.rounds, round_seconds=rules.round_seconds)
    for begin, stop in pairwise([now, *(cut for cut in _cuts(later) if cut > now), NEVER]):
        faults = list(_in_piece(own, later, messages, begin))
        added = _added(faults, rules.clock, m)
        if rules.clock == "wall":
            added = completed(added, rules.round_seconds or 1.0)
        due = _released(rounds + np.minimum(added, LONGEST), faults, axis, begin)
        taken = held & _dropped(faults, m) & (rounds < stop)
        comes = held & ~taken & (due < stop)
        arrival, lost, held = np.where(comes, due, arrival), lost | taken, held & ~taken & ~comes
    return arrival, lost


def _on_accepted(own: Sequence[OnLink], messages: Messages) -> Iterator[_Acting]:
    """Yield faults that act on what was accepted while they were in force."""
    accepted = messages.accepted
    for each in own:
        met = each.meets(messages.rounds)
        if not each.fault.about_releases:
            met &= (accepted >= each.span[0]) & (accepted < each.span[1])
        yield _acting(each, messages, met, each.span)


def _on_held(later: Sequence[OnLink], messages: Messages, now: float) -> Iterator[_Acting]:
    """Yield faults that act on what is held now, and the blackouts to come."""
    for each in later:
        begin, stop = each.span
        there, outage = begin <= now < stop, each.fault.about_releases
        if there or outage:
            span = (-math.inf, stop) if there and outage else each.span  # nothing held is due before now
            yield _acting(each, messages, each.gate(messages.rounds), span)


def _in_piece(
    own: Sequence[OnLink], later: Sequence[OnLink], messages: Messages, now: int
) -> Iterator[_Acting]:
    """Yield faults that act on the rounds of their windows, or on what is held in round `now`."""
    for each in own:
        yield _acting(each, messages, each.meets(messages.rounds), (each.first, each.stop))
    for each in later:
        if each.fault.about_releases or each.first <= now < each.stop:
            yield _acting(each, messages, each.gate(messages.rounds), (each.first, each.stop))


def _cuts(later: Sequence[OnLink]) -> list[int]:
    """Return the rounds in which a fault begins or ends to act on what is held."""
    windows = [(each.first, each.stop) for each in later if not each.fault.about_releases]
    return sorted({edge for window in windows for edge in window if 0 < edge < NEVER})


def _acting(each: OnLink, messages: Messages, met: NDArray[np.bool_], span: Span) -> _Acting:
    """Return a fault that acts on messages where it is `met`, and is after them."""
    seen = Seen(messages.rounds, _elapsed(each, messages), messages.ranks, each.draws)
    aims = each.fault.aims(seen)
    return _Acting(each.fault, seen, met if aims is None else met & aims, span)


def _elapsed(each: OnLink, messages: Messages) -> NDArray[np.float64]:
    """Return how long after a fault's beginning each message was sent, in the clock's unit; at least 0.

    By the clock that is real time, unless the fault begins with a round and rounds have a length.
    """
    if not each.fault.climbs:
        return UNKNOWN
    length = each.rules.round_seconds
    if len(messages.accepted) and (each.window is None or length is None):
        return np.maximum(messages.accepted - each.span[0], 0.0)
    since = np.maximum(messages.rounds - (each.first or 1), 0).astype(np.float64)
    return since if each.rules.clock == "rounds" else since * (length or 1.0)


def _added(faults: Sequence[_Acting], clock: str, m: int) -> Moments:
    """Return what faults add to the delays of m messages, in the clock's unit."""
    total: Moments = np.zeros(m, dtype=np.float64 if clock == "wall" else np.int64)
    for fault, seen, met, _ in faults:
        amounts = fault.adds(seen, clock)
        if amounts is not None:
            total = total + np.where(met, amounts, 0)
    return total


def _released(due: Moments, faults: Sequence[_Acting], axis: Axis, least: float | None = None) -> Moments:
    """Return when messages (m,) come that would be due in `due`: past blackouts, as adversaries choose.

    Nothing comes before `least`, nor inside a blackout.
    """
    outages = [each for each in faults if each.fault.about_releases]
    due = _past(due, outages)
    for fault, _, met, _ in faults:
        held = fault.holds(due, axis)
        due = due if held is None else np.where(met, held, due)
    return _past(due if least is None else np.maximum(due, least), outages)


def _past(due: Moments, outages: Sequence[_Acting]) -> Moments:
    """Return the moments, those inside an outage moved to its end, until none is inside one."""
    while outages:
        # Ends: a release is past its outage for good, so each of them moves it once at most.
        before = due
        for _, _, met, (begin, stop) in outages:
            due = np.where(met & (due >= begin) & (due < stop), stop, due)
        if np.array_equal(before, due):
            break
    return due


def _dropped(faults: Sequence[_Acting], m: int) -> NDArray[np.bool_]:
    """Return which of m messages are taken for good."""
    lost = np.zeros(m, dtype=np.bool_)
    for fault, seen, met, _ in faults:
        taken = fault.takes(seen)
        if taken is not None:
            lost |= met & taken
    return lost
