"""Feedback of one link: due times by the wall clock, and what acts on what is held."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgefw.problem.delay import (
    NEVER,
    Adversary,
    Blackout,
    DelayPlan,
    Drop,
    Fault,
    Latency,
    Ramp,
    Rounds,
    Stream,
)
from edgefw.problem.delay.link import ALWAYS, Batch, Dues, OnLink, Span, round_dues, wall_dues

PACE, START, T = 0.25, 1024.0, 20
OUTAGE = Blackout(window=(1, None))

WINDOWS = st.one_of(
    st.none(),
    st.tuples(st.integers(1, 9), st.integers(1, 9)).map(lambda w: (w[0], w[0] + w[1])),
    st.integers(1, 9).map(lambda start: (start, None)),
)
CHANCE = st.sampled_from([0.0, 0.3, 1.0])
LATENCIES = st.builds(
    Latency,
    st.floats(0, 3),
    jitter=st.floats(0.01, 2),
    distribution=st.sampled_from(["uniform", "normal", "exponential", "lognormal", "pareto"]),
    correlation=st.floats(0, 1),
    window=WINDOWS,
    probability=CHANCE,
)
RAMPS = st.builds(
    Ramp,
    st.sampled_from([0.0, 0.5, 2.0]),
    st.sampled_from([0.0, 1.25]),
    st.sampled_from([0.25, 0.5]),
    st.sampled_from([0.25, 0.75]),
    st.just("seconds"),
    probability=CHANCE,
)
ADVERSARIES = st.one_of(
    st.builds(
        Adversary,
        st.sampled_from(["burst", "newest_first", "largest"]),
        st.sampled_from([0.5, 1.25]),
        st.just("seconds"),
        probability=CHANCE,
    ),
    st.builds(Adversary, st.just("starve"), st.integers(1, 4), probability=CHANCE),
    st.builds(Adversary, st.just("until_end"), probability=CHANCE),
)
DROPS = st.builds(Drop, window=WINDOWS, probability=CHANCE)
OUTAGES = st.builds(Blackout, window=st.just((1, None)), probability=CHANCE)
FAULTS: st.SearchStrategy[Fault] = st.one_of(LATENCIES, RAMPS, OUTAGES, DROPS, ADVERSARIES)
SPANS = st.one_of(
    st.just((START, math.inf)),
    st.tuples(st.integers(0, 40), st.integers(1, 40)).map(
        lambda w: (START + w[0] / 8, START + (w[0] + w[1]) / 8)
    ),
)
LINKS = st.lists(
    st.builds(OnLink, FAULTS, st.builds(Stream, st.integers(0, 9), st.just(0), st.integers(0, 9)), SPANS),
    max_size=4,
)


def on(fault: Fault, span: Span = ALWAYS, salt: int = 1) -> OnLink:
    return OnLink(fault, Stream(5, 0, salt), span)


def batch(rounds: list[int], accepted: list[float], ranks: list[float] | None = None) -> Batch:
    some = [0.0] * len(rounds) if ranks is None else ranks
    return Batch(np.array(rounds, dtype=np.int64), np.array(accepted, dtype=np.float64), np.array(some))


def dues(
    own: list[OnLink],
    later: list[OnLink],
    feedback: Batch,
    *,
    now: float = START,
    ended: bool = False,
    pace: float | None = PACE,
) -> Dues:
    return wall_dues(own, later, feedback, now=now, start=START, ended=ended, round_seconds=pace)


def late(own: list[OnLink], ages: list[float], s: int = 1, **rest: float | None) -> list[float]:
    """Return the delays of feedback of round s, accepted at these ages of the run."""
    feedback = batch([s] * len(ages), [START + age for age in ages])
    found = dues(own, [], feedback, pace=rest.get("pace", PACE)).due
    return [round(each, 9) for each in (found - feedback.accepted).tolist()]


FEEDBACK = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 64).map(lambda k: START + k / 8), st.floats(0, 1)),
    min_size=1,
    max_size=6,
).map(lambda rows: batch(*(list(column) for column in zip(*rows, strict=True))))


@settings(deadline=None, max_examples=150)
@given(LINKS, LINKS, FEEDBACK, st.integers(0, 64), st.sampled_from(["running", "ended"]))
def test_many_at_once_are_each_alone(
    own: list[OnLink], later: list[OnLink], feedback: Batch, tick: int, phase: str
) -> None:
    now, ended = START + tick / 8, phase == "ended"
    whole = dues(own, later, feedback, now=now, ended=ended)
    for k in range(len(feedback.rounds)):
        here = slice(k, k + 1)
        one = Batch(feedback.rounds[here], feedback.accepted[here], feedback.ranks[here])
        alone = dues(own, later, one, now=now, ended=ended)
        assert (alone.due[0], alone.dropped[0]) == (whole.due[k], whole.dropped[k])


@settings(deadline=None, max_examples=150)
@given(LINKS, LINKS, FEEDBACK, st.integers(0, 64), st.sampled_from(["running", "ended"]))
def test_nothing_is_due_before_it_is_accepted_nor_inside_a_blackout(
    own: list[OnLink], later: list[OnLink], feedback: Batch, tick: int, phase: str
) -> None:
    now = START + tick / 8
    found = dues(own, later, feedback, now=now, ended=phase == "ended")
    assert (found.due >= feedback.accepted).all()
    assert np.isinf(found.due[found.dropped]).all()
    for each in (*own, *later):
        if isinstance(each.fault, Blackout) and each.fault.probability == 1:
            begin, end = each.span
            assert not ((found.due >= begin) & (found.due < end)).any()
            if each in later and begin <= now < end:
                assert (found.due >= end).all()


def reference(own: list[OnLink], s: int, accepted: float) -> float:
    """Return when feedback is due under faults it was accepted under, step by step; no adversary."""
    acting = [
        each
        for each in own
        if each.span[0] <= accepted < each.span[1] and each.fault.meets(each.stream, range(s, s + 1))[0]
    ]
    if any(isinstance(each.fault, Drop) for each in acting):
        return math.inf
    seconds = 0.0
    for each in acting:
        if isinstance(each.fault, Latency):
            seconds += float(each.fault.amount.values(each.stream, range(s, s + 1))[0])
        if isinstance(each.fault, Ramp):
            seconds += float(each.fault.level(np.array([accepted - each.span[0]]))[0])
    due = accepted + seconds
    outages = [each for each in own if isinstance(each.fault, Blackout)]
    for _ in outages:
        for each in outages:
            if each.fault.meets(each.stream, range(s, s + 1))[0] and each.span[0] <= due < each.span[1]:
                due = each.span[1]
    return due


@settings(deadline=None, max_examples=200)
@given(LINKS, FEEDBACK)
def test_it_is_the_sum_then_the_blackouts(own: list[OnLink], feedback: Batch) -> None:
    own = [each for each in own if not isinstance(each.fault, Adversary)]
    expected = [
        reference(own, int(s), float(a)) for s, a in zip(feedback.rounds, feedback.accepted, strict=True)
    ]
    assert dues(own, [], feedback).due.tolist() == expected


@settings(deadline=None, max_examples=150)
@given(st.lists(st.one_of(LATENCIES, RAMPS, DROPS), max_size=3), st.integers(0, 99), st.integers(1, T))
def test_on_the_tick_of_the_pace_it_is_the_plan_in_rounds(faults: list[Fault], seed: int, s: int) -> None:
    # What the simulator counts is what the clock shows, as long as rounds keep the pace.
    plan = DelayPlan((*faults, Blackout(window=(5, 9))), agents=1, seed=seed)
    counted = int(plan.delays(0, range(s, s + 1), T=T, round_seconds=PACE)[0])
    own = [replace(each, span=(START, math.inf)) for each in plan.link(0, pending=False)]
    own[-1] = replace(own[-1], span=(START + 4 * PACE, START + 8 * PACE))
    accepted = START + (s - 1) * PACE
    due = float(dues(own, [], batch([s], [accepted])).due[0])
    if counted == NEVER:
        assert due == math.inf
        return
    ticks = (due - accepted) / PACE
    assume(abs(ticks - round(ticks)) > 1e-6 or round(ticks) == ticks)  # a draw on the edge of a round
    assert math.floor(ticks + 1e-9) + 1 == counted


def test_without_faults_nothing_is_late() -> None:
    feedback = batch([1, 2], [START, START + 1])
    assert dues([], [], feedback).due.tolist() == [START, START + 1]
    assert round_dues([], [], feedback, T=T).due.tolist() == [1.0, 2.0]
    assert not dues([], [], feedback).dropped.any()


def test_a_span_is_about_the_moment_of_acceptance() -> None:
    own = [on(Latency(1.0), (START + 2, START + 4)), on(Drop(), (START + 6, math.inf))]
    assert late(own, [0.0, 1.99, 2.0, 3.99, 4.0, 5.9]) == [0, 0, 1, 1, 0, 0]
    assert late(own, [6.0, 60.0]) == [math.inf] * 2


def test_a_window_in_rounds_is_about_the_round_whatever_the_moment() -> None:
    own = [on(Latency(1.0, window=(3, 5)))]
    assert [late(own, [50.0], s, pace=None)[0] for s in (2, 3, 4, 5)] == [0, 1, 1, 0]


def test_a_ramp_climbs_from_its_beginning_in_time_or_in_rounds() -> None:
    in_time = [on(Ramp(0.5, 2, 0.5, 1, "seconds"), (START + 10, START + 20))]
    assert late(in_time, [9.9, 10.0, 11.0, 15.0, 20.0], pace=None) == [0, 0.5, 1, 2, 0]
    in_rounds = [on(Ramp(0.5, 2, 0.5, PACE, "seconds", window=(10, None)))]
    assert [late(in_rounds, [50.0], s)[0] for s in (9, 10, 11, 99)] == [0, 0.5, 1, 2]


def test_blackouts_chain() -> None:
    own = [on(Latency(0.5)), on(OUTAGE, (START + 10, START + 12)), on(OUTAGE, (START + 11.5, START + 13))]
    assert late(own, [9.0, 9.4, 9.5, 11.0, 12.4, 12.5]) == [0.5, 0.5, 3.5, 2.0, 0.6, 0.5]


def test_what_has_no_known_end_is_not_dropped() -> None:
    feedback = batch([1], [START])
    for held in (on(OUTAGE), on(Adversary("until_end"))):
        assert dues([held], [], feedback) == Dues(np.array([math.inf]), np.array([False]))
    for taken in (on(Drop()), on(Adversary("starve", 3))):
        found = dues([taken, on(OUTAGE)], [], batch([2], [START]))
        assert (found.due.tolist(), found.dropped.tolist()) == ([math.inf], [True])


def test_a_tail_beyond_all_bounds_is_cut() -> None:
    heavy = Latency(2.0**53, jitter=2.0**53, distribution="pareto")
    assert late([on(heavy, salt=k) for k in range(3)], [0.0]) == [2.0**53]


def test_what_is_pending_is_held_from_its_acceptance_on_while_the_fault_is_there() -> None:
    feedback = batch([1, 2], [START, START + 4])
    later = [on(Latency(10.0), (START + 5, START + 8))]
    for now, expected in ((4.9, [0, 4]), (5, [10, 14]), (7.9, [10, 14]), (8, [0, 4])):
        found = dues([], later, feedback, now=START + now).due - START
        assert found.tolist() == expected
    own = [on(Latency(1.0))]
    assert (dues(own, later, feedback, now=START + 6).due - START).tolist() == [11, 15]


def test_a_window_in_rounds_does_not_bind_what_acts_on_the_pending() -> None:
    found = dues([], [on(Latency(1.0, window=(50, 60)))], batch([1], [START]), now=START)
    assert found.due.tolist() == [START + 1]


def test_a_ramp_on_what_is_pending_has_its_first_level_for_what_is_older() -> None:
    ramp = on(Ramp(1.0, 9.0, 1.0, 1.0, "seconds"), (START + 5, math.inf))
    found = dues([], [ramp], batch([1, 2, 3], [START, START + 5.5, START + 7]), now=START + 8)
    assert (found.due - START).tolist() == [1, 6.5, 10]


def test_a_drop_of_what_is_pending_takes_all_that_is_held_then() -> None:
    later, feedback = [on(Drop(), (START + 5, START + 6))], batch([1, 2], [START, START + 5.5])
    assert dues([], later, feedback, now=START + 4).dropped.tolist() == [False, False]
    assert dues([], later, feedback, now=START + 5.5).dropped.tolist() == [True, True]
    assert dues([], later, feedback, now=START + 6).dropped.tolist() == [False, False]


def test_a_blackout_in_force_holds_what_is_overdue_and_one_to_come_does_not() -> None:
    feedback, outage = batch([1], [START]), on(OUTAGE, (START + 5, START + 9))
    assert dues([], [outage], feedback, now=START + 4).due.tolist() == [START]
    assert dues([], [outage], feedback, now=START + 5).due.tolist() == [START + 9]
    assert dues([outage], [], feedback, now=START + 5).due.tolist() == [START]
    assert dues([on(Latency(6.0))], [outage], feedback, now=START).due.tolist() == [START + 9]


def test_adversaries_count_from_the_start_of_the_run_and_release_nothing_in_a_blackout() -> None:
    burst = on(Adversary("burst", 2.0, "seconds"))
    assert late([burst], [0.0, 0.5, 2.0, 2.5]) == [0, 1.5, 0, 1.5]
    mirrored = on(Adversary("newest_first", 2.0, "seconds"))
    assert late([mirrored], [0.5, 1.0, 1.5]) == [3, 2, 1]
    assert late([burst, on(OUTAGE, (START + 2, START + 3))], [0.5]) == [2.5]


def test_until_the_end_is_when_the_last_round_is_submitted() -> None:
    feedback, own = batch([1, 2], [START, START + 1]), [on(Latency(5.0)), on(Adversary("until_end"))]
    assert np.isinf(dues(own, [], feedback).due).all()
    assert dues(own, [], feedback, ended=True).due.tolist() == [START + 5, START + 6]


def test_the_largest_are_held_and_the_others_are_not() -> None:
    feedback = batch([1, 2, 3], [START + 1] * 3, ranks=[0.0, 0.8, 0.7])
    own = [on(Adversary("largest", 4.0, "seconds", share=0.25))]
    assert (dues(own, [], feedback).due - START).tolist() == [1, 4, 1]
    counted = [on(Adversary("largest", 4, share=0.25))]
    assert round_dues(counted, [], feedback, T=T).due.tolist() == [1, 4, 3]


COUNTED: st.SearchStrategy[Fault] = st.one_of(
    st.builds(Rounds, st.integers(1, 9), jitter=st.just(0), window=WINDOWS, probability=CHANCE),
    st.builds(Blackout, window=WINDOWS.filter(lambda window: window is not None), probability=CHANCE),
    st.builds(Drop, window=WINDOWS, probability=CHANCE),
    st.builds(
        Adversary, st.sampled_from(["burst", "newest_first", "starve"]), st.integers(1, 5), window=WINDOWS
    ),
)
COUNTED_LINKS = st.lists(
    st.builds(OnLink, COUNTED, st.builds(Stream, st.integers(0, 9), st.just(0), st.integers(0, 9))),
    max_size=3,
)


@settings(deadline=None, max_examples=150)
@given(COUNTED_LINKS, COUNTED_LINKS)
def test_in_rounds_what_acts_on_the_pending_is_what_acts_round_by_round(
    own: list[OnLink], later: list[OnLink]
) -> None:
    last = 60
    feedback = batch(list(range(1, 13)), [0.0] * 12)
    arrived: dict[int, int] = {}
    taken: set[int] = set()
    for now in range(1, last):
        held = [s for s in range(1, min(now, 12) + 1) if s not in arrived and s not in taken]
        there = []
        for each in later:
            first, stop = each.fault.window or (0, None)
            if isinstance(each.fault, Blackout):
                there.append(each)
            elif first <= now < (stop or math.inf):
                there.append(replace(each, fault=replace(each.fault, window=None)))
        found = round_dues(own, there, batch(held, [0.0] * len(held)), T=T, now=now)
        taken |= {s for s, lost in zip(held, found.dropped, strict=True) if lost}
        arrived |= {s: now for s, due in zip(held, found.due, strict=True) if due == now}
    whole = round_dues(own, later, feedback, T=T)
    assert {s for s, lost in zip(range(1, 13), whole.dropped, strict=True) if lost} == taken
    assert {s: due for s, due in zip(range(1, 13), whole.due, strict=True) if due < last} == arrived


def test_in_rounds_what_is_held_is_not_due_before_now() -> None:
    feedback, outage = batch([1, 9], [0.0, 0.0]), on(Blackout(window=(5, 8)))
    assert round_dues([], [outage], feedback, T=T).due.tolist() == [1, 9]
    assert round_dues([], [outage], feedback, T=T, now=6).due.tolist() == [8, 9]
    assert round_dues([], [on(Blackout(window=(1, None)))], feedback, T=T).due.tolist() == [math.inf] * 2
    assert not round_dues([], [on(Blackout(window=(1, None)))], feedback, T=T).dropped.any()
