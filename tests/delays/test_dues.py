"""Feedback of one link: due times by the wall clock, and what acts on what is held."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from delay_plans import fault, plan_of, rules
from delay_plans import on as on_link
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgefw.delays.adversary import Adversary
from edgefw.delays.blackout import Blackout
from edgefw.delays.drop import Drop
from edgefw.delays.dues import Dues, Messages, round_dues, steady_due, wall_dues
from edgefw.delays.latency import Latency
from edgefw.delays.moments import moment
from edgefw.delays.on_link import ALWAYS, OnLink
from edgefw.delays.ramp import Ramp
from edgefw.delays.units import NEVER, format_duration

if TYPE_CHECKING:
    from edgefw.delays.fault import Fault, Window
    from edgefw.delays.on_link import Span

PACE, START, T = 0.25, 1024.0, 20
WALL, COUNTED_RULES = rules(rounds=T, pace=PACE), rules(rounds=T)
ASAP = replace(WALL, round_seconds=None)
OUTAGE = fault("blackout")

WINDOWS: st.SearchStrategy[Window | None] = st.one_of(
    st.none(),
    st.tuples(st.integers(1, 9), st.integers(1, 9)).map(lambda w: (w[0], w[0] + w[1])),
    st.integers(1, 9).map(lambda start: (start, None)),
)
CHANCE = st.sampled_from([0.0, 0.3, 1.0])
LAWS = st.sampled_from(["uniform", "normal", "exponential", "lognormal", "pareto"])


def seconds(*amounts: float) -> st.SearchStrategy[str]:
    return st.sampled_from([format_duration(amount) for amount in amounts])


def some(type_: str, **fields: Any) -> st.SearchStrategy[Fault]:
    written = st.fixed_dictionaries({"probability": CHANCE, **fields})
    return written.map(lambda own: fault(type_, **own))


LATENCIES = some(
    "latency",
    latency=st.floats(0, 3).map(format_duration),
    jitter=st.floats(0.01, 2).map(format_duration),
    distribution=LAWS,
    correlation=st.floats(0, 1),
)
RAMPS = some(
    "ramp",
    start=seconds(0.0, 0.5, 2.0),
    stop=seconds(0.0, 1.25),
    step=seconds(0.25, 0.5),
    interval=seconds(0.25, 0.75),
)
DROPS = some("drop")
HOLDING = st.sampled_from(["burst", "newest_first", "largest"])
ADVERSARIES = st.one_of(
    some("adversary", strategy=HOLDING, period=seconds(0.5, 1.25)),
    some("adversary", strategy=st.just("starve"), period=st.integers(1, 4)),
    some("adversary", strategy=st.just("until_end")),
)
FAULTS = st.one_of(LATENCIES, RAMPS, some("blackout"), DROPS, ADVERSARIES)
SPANS = st.one_of(
    st.just((START, math.inf)),
    st.tuples(st.integers(0, 40), st.integers(1, 40)).map(
        lambda w: (START + w[0] / 8, START + (w[0] + w[1]) / 8)
    ),
)


def on(
    each: Fault, span: Span = ALWAYS, salt: int = 1, window: Window | None = None, pace: float | None = PACE
) -> OnLink:
    return on_link(WALL if pace else ASAP, each, span, window=window, salt=salt)


def placed(each: Fault, span: Span, salt: int, window: Window | None) -> OnLink:
    """Return a fault on a link; a window in rounds is for one that counts from a round."""
    begins = None if isinstance(each, Blackout | Ramp) else window
    return on(each, span, salt, begins)


LINKS = st.lists(st.builds(placed, FAULTS, SPANS, st.integers(0, 9), WINDOWS), max_size=4)


def batch(rounds: list[int], accepted: list[float], ranks: list[float] | None = None) -> Messages:
    some = [0.0] * len(rounds) if ranks is None else ranks
    return Messages(np.array(rounds, dtype=np.int64), np.array(accepted, dtype=np.float64), np.array(some))


def dues(
    own: list[OnLink],
    later: list[OnLink],
    feedback: Messages,
    *,
    now: float = START,
    ended: bool = False,
    pace: float | None = PACE,
) -> Dues:
    given_rules = WALL if pace else ASAP
    return wall_dues(own, later, feedback, given_rules, now=now, start=START, ended=ended)


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
    own: list[OnLink], later: list[OnLink], feedback: Messages, tick: int, phase: str
) -> None:
    now, ended = START + tick / 8, phase == "ended"
    whole = dues(own, later, feedback, now=now, ended=ended)
    for k in range(len(feedback.rounds)):
        here = slice(k, k + 1)
        one = Messages(feedback.rounds[here], feedback.accepted[here], np.asarray(feedback.ranks)[here])
        alone = dues(own, later, one, now=now, ended=ended)
        assert (alone.due[0], alone.dropped[0]) == (whole.due[k], whole.dropped[k])


@settings(deadline=None, max_examples=150)
@given(LINKS, LINKS, FEEDBACK, st.integers(0, 64), st.sampled_from(["running", "ended"]))
def test_nothing_is_due_before_it_is_accepted_nor_inside_a_blackout(
    own: list[OnLink], later: list[OnLink], feedback: Messages, tick: int, phase: str
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
        each for each in own if each.span[0] <= accepted < each.span[1] and each.meets(np.array([s]))[0]
    ]
    if any(isinstance(each.fault, Drop) for each in acting):
        return math.inf
    late = 0.0
    for each in acting:
        if isinstance(each.fault, Latency):
            late += float(each.fault.values(each.draws, range(s, s + 1))[0])
        if isinstance(each.fault, Ramp):
            late += float(each.fault.level(np.array([accepted - each.span[0]]))[0])
    due = moment(accepted + late)
    outages = [each for each in own if isinstance(each.fault, Blackout)]
    for _ in outages:
        for each in outages:
            if each.meets(np.array([s]))[0] and each.span[0] <= due < each.span[1]:
                due = each.span[1]
    return due


@settings(deadline=None, max_examples=200)
@given(LINKS, FEEDBACK)
def test_it_is_the_sum_then_the_blackouts(own: list[OnLink], feedback: Messages) -> None:
    own = [each for each in own if not isinstance(each.fault, Adversary)]
    expected = [
        reference(own, int(s), float(a)) for s, a in zip(feedback.rounds, feedback.accepted, strict=True)
    ]
    assert dues(own, [], feedback).due.tolist() == expected


@settings(deadline=None, max_examples=150)
@given(st.lists(st.one_of(LATENCIES, RAMPS, DROPS), max_size=3), st.integers(0, 99), st.integers(1, T))
def test_on_the_tick_of_the_pace_it_is_the_plan_in_rounds(faults: list[Fault], seed: int, s: int) -> None:
    # What the simulator counts is what the clock shows, as long as rounds keep the pace.
    plan = plan_of(replace(WALL, seed=seed), *faults, fault("blackout", at=5, duration=4))
    counted = int(plan.delays(0, range(s, s + 1))[0])
    accepted = START + (s - 1) * PACE
    found = wall_dues(
        plan.own(0, START),
        plan.later(0, START),
        batch([s], [accepted]),
        plan.rules,
        now=accepted,
        start=START,
        ended=False,
    )
    due = float(found.due[0])
    if counted == NEVER:
        assert due == math.inf
        return
    ticks = (due - accepted) / PACE
    assume(abs(ticks - round(ticks)) > 1e-6 or round(ticks) == ticks)  # a draw on the edge of a round
    assert math.floor(ticks + 1e-9) + 1 == counted


@settings(deadline=None, max_examples=150)
@given(st.lists(st.builds(placed, LATENCIES, SPANS, st.integers(0, 9), WINDOWS), max_size=3), FEEDBACK)
def test_the_short_way_for_what_is_steady_gives_the_same(own: list[OnLink], feedback: Messages) -> None:
    whole = dues(own, [], feedback).due.tolist()
    rows = zip(feedback.rounds.tolist(), feedback.accepted.tolist(), strict=True)
    assert [steady_due(own, [], s, accepted) for s, accepted in rows] == whole
    assert steady_due([*own, on(fault("drop"))], [], 1, START) is None
    assert steady_due(own, [on(fault("blackout"))], 1, START) is None


def test_without_faults_nothing_is_late() -> None:
    feedback = batch([1, 2], [START, START + 1])
    assert dues([], [], feedback).due.tolist() == [START, START + 1]
    assert round_dues([], [], feedback, COUNTED_RULES).due.tolist() == [1.0, 2.0]
    assert not dues([], [], feedback).dropped.any()


def test_a_span_is_about_the_moment_of_acceptance() -> None:
    own = [
        on(fault("latency", latency="1s"), (START + 2, START + 4)),
        on(fault("drop"), (START + 6, math.inf)),
    ]
    assert late(own, [0.0, 1.99, 2.0, 3.99, 4.0, 5.9]) == [0, 0, 1, 1, 0, 0]
    assert late(own, [6.0, 60.0]) == [math.inf] * 2


def test_a_window_in_rounds_is_about_the_round_whatever_the_moment() -> None:
    own = [on(fault("latency", latency="1s"), window=(3, 5))]
    assert [late(own, [50.0], s, pace=None)[0] for s in (2, 3, 4, 5)] == [0, 1, 1, 0]


def test_a_ramp_climbs_from_its_beginning_in_time_or_in_rounds() -> None:
    ramp = {"start": "500ms", "stop": "2s", "step": "500ms"}
    in_time = [on(fault("ramp", **ramp, interval="1s"), (START + 10, START + 20), pace=None)]
    assert late(in_time, [9.9, 10.0, 11.0, 15.0, 20.0], pace=None) == [0, 0.5, 1, 2, 0]
    in_rounds = [on(fault("ramp", **ramp, interval="250ms"), window=(10, None))]
    assert [late(in_rounds, [50.0], s)[0] for s in (9, 10, 11, 99)] == [0, 0.5, 1, 2]


def test_blackouts_chain() -> None:
    own = [
        on(fault("latency", latency="0.5s")),
        on(OUTAGE, (START + 10, START + 12)),
        on(OUTAGE, (START + 11.5, START + 13)),
    ]
    assert late(own, [9.0, 9.4, 9.5, 11.0, 12.4, 12.5]) == [0.5, 0.5, 3.5, 2.0, 0.6, 0.5]


def test_what_has_no_known_end_is_not_dropped() -> None:
    feedback = batch([1], [START])
    for held in (on(OUTAGE), on(fault("adversary", strategy="until_end"))):
        assert dues([held], [], feedback) == Dues(np.array([math.inf]), np.array([False]))
    for taken in (on(fault("drop")), on(fault("adversary", strategy="starve", period=3))):
        found = dues([taken, on(OUTAGE)], [], batch([2], [START]))
        assert (found.due.tolist(), found.dropped.tolist()) == ([math.inf], [True])


def test_a_tail_beyond_all_bounds_is_cut() -> None:
    heavy = fault("latency", latency=f"{2**53}s", jitter=f"{2**53}s", distribution="pareto")
    assert late([on(heavy, salt=k) for k in range(3)], [0.0]) == [2.0**53]


def test_what_is_pending_is_held_from_its_acceptance_on_while_the_fault_is_there() -> None:
    feedback = batch([1, 2], [START, START + 4])
    later = [on(fault("latency", latency="10s"), (START + 5, START + 8))]
    for now, expected in ((4.9, [0, 4]), (5, [10, 14]), (7.9, [10, 14]), (8, [0, 4])):
        found = dues([], later, feedback, now=START + now).due - START
        assert found.tolist() == expected
    own = [on(fault("latency", latency="1s"))]
    assert (dues(own, later, feedback, now=START + 6).due - START).tolist() == [11, 15]


def test_a_window_in_rounds_does_not_bind_what_acts_on_the_pending() -> None:
    found = dues([], [on(fault("latency", latency="1s"), window=(50, 60))], batch([1], [START]), now=START)
    assert found.due.tolist() == [START + 1]


def test_a_ramp_on_what_is_pending_has_its_first_level_for_what_is_older() -> None:
    climbing = fault("ramp", start="1s", stop="9s", step="1s", interval="1s")
    ramp = on(climbing, (START + 5, math.inf))
    found = dues([], [ramp], batch([1, 2, 3], [START, START + 5.5, START + 7]), now=START + 8)
    assert (found.due - START).tolist() == [1, 6.5, 10]


def test_a_drop_of_what_is_pending_takes_all_that_is_held_then() -> None:
    later, feedback = [on(fault("drop"), (START + 5, START + 6))], batch([1, 2], [START, START + 5.5])
    assert dues([], later, feedback, now=START + 4).dropped.tolist() == [False, False]
    assert dues([], later, feedback, now=START + 5.5).dropped.tolist() == [True, True]
    assert dues([], later, feedback, now=START + 6).dropped.tolist() == [False, False]


def test_a_blackout_in_force_holds_what_is_overdue_and_one_to_come_does_not() -> None:
    feedback, outage = batch([1], [START]), on(OUTAGE, (START + 5, START + 9))
    assert dues([], [outage], feedback, now=START + 4).due.tolist() == [START]
    assert dues([], [outage], feedback, now=START + 5).due.tolist() == [START + 9]
    assert dues([outage], [], feedback, now=START + 5).due.tolist() == [START]
    assert dues([on(fault("latency", latency="6s"))], [outage], feedback, now=START).due.tolist() == [
        START + 9
    ]


def test_adversaries_count_from_the_start_of_the_run_and_release_nothing_in_a_blackout() -> None:
    burst = on(fault("adversary", strategy="burst", period="2s"))
    assert late([burst], [0.0, 0.5, 2.0, 2.5]) == [0, 1.5, 0, 1.5]
    mirrored = on(fault("adversary", strategy="newest_first", period="2s"))
    assert late([mirrored], [0.5, 1.0, 1.5]) == [3, 2, 1]
    assert late([burst, on(OUTAGE, (START + 2, START + 3))], [0.5]) == [2.5]


def test_until_the_end_is_when_the_last_round_is_submitted() -> None:
    feedback, own = (
        batch([1, 2], [START, START + 1]),
        [on(fault("latency", latency="5s")), on(fault("adversary", strategy="until_end"))],
    )
    assert np.isinf(dues(own, [], feedback).due).all()
    assert dues(own, [], feedback, ended=True).due.tolist() == [START + 5, START + 6]


def test_the_largest_are_held_and_the_others_are_not() -> None:
    feedback = batch([1, 2, 3], [START + 1] * 3, ranks=[0.0, 0.8, 0.7])
    own = [on(fault("adversary", strategy="largest", period="4s", share=0.25))]
    assert (dues(own, [], feedback).due - START).tolist() == [1, 4, 1]
    counted = [on_link(COUNTED_RULES, fault("adversary", strategy="largest", period=4, share=0.25))]
    assert round_dues(counted, [], feedback, COUNTED_RULES).due.tolist() == [1, 4, 3]


def counted(each: Fault, window: Window | None, salt: int) -> OnLink:
    return on_link(COUNTED_RULES, each, window=window, salt=salt)


COUNTED = st.one_of(
    some("rounds", rounds=st.integers(1, 9)),
    some("blackout"),
    some("drop"),
    some(
        "adversary",
        strategy=st.sampled_from(["burst", "newest_first", "starve"]),
        period=st.integers(1, 5),
        probability=st.just(1.0),
    ),
)
COUNTED_LINKS = st.lists(st.builds(counted, COUNTED, WINDOWS, st.integers(0, 9)), max_size=3)


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
            first, stop = each.window or (0, None)
            if isinstance(each.fault, Blackout):
                there.append(each)
            elif first <= now < (stop or math.inf):
                there.append(replace(each, window=None))
        found = round_dues(own, there, batch(held, [0.0] * len(held)), COUNTED_RULES, now=now)
        taken |= {s for s, lost in zip(held, found.dropped, strict=True) if lost}
        arrived |= {s: now for s, due in zip(held, found.due, strict=True) if due == now}
    whole = round_dues(own, later, feedback, COUNTED_RULES)
    assert {s for s, lost in zip(range(1, 13), whole.dropped, strict=True) if lost} == taken
    assert {s: due for s, due in zip(range(1, 13), whole.due, strict=True) if due < last} == arrived


def test_in_rounds_what_is_held_is_not_due_before_now() -> None:
    feedback, outage = batch([1, 9], [0.0, 0.0]), counted(OUTAGE, (5, 8), 1)
    assert round_dues([], [outage], feedback, COUNTED_RULES).due.tolist() == [1, 9]
    assert round_dues([], [outage], feedback, COUNTED_RULES, now=6).due.tolist() == [8, 9]
    for window in (None, (1, None)):
        endless = round_dues([], [counted(OUTAGE, window, 1)], feedback, COUNTED_RULES)
        assert endless.due.tolist() == [math.inf] * 2
        assert not endless.dropped.any()
