from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.problem.delay import NEVER, Adversary, Blackout, DelayPlan, Drop, Fault, Latency, Ramp, Rounds
from edgefw.problem.delay.wall import Span, WallPlan

PACE = 0.25
START = 1000.0

WINDOWS = st.one_of(
    st.none(),
    st.tuples(st.integers(1, 9), st.integers(1, 9)).map(lambda w: (w[0], w[0] + w[1])),
    st.integers(1, 9).map(lambda start: (start, None)),
)
COMMON = {
    "agents": st.one_of(st.none(), st.sets(st.integers(0, 2)).map(lambda ids: tuple(sorted(ids)))),
    "probability": st.sampled_from([0.0, 0.3, 1.0]),
}
LATENCIES = st.builds(
    Latency,
    st.floats(0, 3),
    jitter=st.floats(0.01, 2),
    distribution=st.sampled_from(["uniform", "normal", "exponential", "lognormal", "pareto"]),
    correlation=st.floats(0, 1),
    window=WINDOWS,
    **COMMON,
)
RAMPS = st.builds(
    Ramp,
    st.sampled_from([0.0, 0.5, 2.0]),
    st.sampled_from([0.0, 1.25]),
    st.sampled_from([0.25, 0.5]),
    st.sampled_from([0.25, 0.75]),
    st.just("seconds"),
    window=WINDOWS,
    **COMMON,
)
BLACKOUTS = st.builds(Blackout, window=WINDOWS.filter(lambda window: window is not None), **COMMON)
FAULTS: st.SearchStrategy[Fault] = st.one_of(
    LATENCIES, RAMPS, BLACKOUTS, st.builds(Drop, window=WINDOWS, **COMMON)
)
PLANS = st.builds(DelayPlan, st.lists(FAULTS, max_size=4).map(tuple), st.just(3), st.integers(0, 2**32))


def wall(*faults: Fault, spans: tuple[Span | None, ...] | None = None, pace: float | None = PACE) -> WallPlan:
    plan = DelayPlan(faults, agents=3, seed=5)
    return WallPlan(plan, (None,) * len(faults) if spans is None else spans, pace)


def delay(plan: WallPlan, s: int, age: float) -> float | None:
    due = plan.due(0, s, START + age, START)
    return None if due is None else due - START - age


@settings(deadline=None, max_examples=150)
@given(PLANS, st.integers(0, 2), st.integers(1, 20))
def test_on_the_tick_of_the_pace_it_is_the_plan_in_rounds(plan: DelayPlan, agent: int, s: int) -> None:
    # Windows in rounds: what the simulator counts is what the clock shows, as long as rounds keep the pace.
    counted = int(plan.delays(agent, range(s, s + 1), T=20, round_seconds=PACE)[0])
    submitted = START + (s - 1) * PACE
    due = WallPlan(plan, (None,) * len(plan.faults), PACE).due(agent, s, submitted, START)
    if counted == NEVER:
        assert due is None
        return
    assert due is not None
    late = (due - submitted) / PACE
    assume(abs(late - round(late)) > 1e-6 or round(late) == late)  # a draw on the edge of a round
    assert math.floor(late + 1e-9) + 1 == counted


@settings(deadline=None, max_examples=100)
@given(PLANS, st.lists(st.tuples(st.floats(0, 5), st.floats(0.1, 5)), min_size=4, max_size=4), st.data())
def test_nothing_is_due_before_it_is_submitted_nor_inside_a_blackout(
    plan: DelayPlan, windows: list[tuple[float, float]], data: st.DataObject
) -> None:
    plan = replace(plan, faults=tuple(_timeless(fault) for fault in plan.faults))
    spans = tuple((at, at + length) for at, length in windows[: len(plan.faults)])
    agent, s, age = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 9)), data.draw(st.floats(0, 9))
    due = WallPlan(plan, spans).due(agent, s, START + age, START)
    assert due == WallPlan(plan, spans).due(agent, s, START + age, START)
    if due is None:
        assert any(isinstance(fault, Drop) for fault in plan.faults)
        return
    assert due >= START + age
    for fault, (begin, end) in zip(plan.faults, spans, strict=True):
        if isinstance(fault, Blackout) and fault.concerns(agent) and fault.probability == 1.0:
            assert not START + begin <= due < START + end


def _timeless(fault: Fault) -> Fault:
    return replace(fault, window=(1, None) if isinstance(fault, Blackout) else None)


def test_latencies_and_ramps_add_up() -> None:
    plan = wall(Latency(0.5), Latency(0.25), Ramp(0, 1, 0.5, 10, "seconds"))
    assert [delay(plan, s, age) for s, age in [(1, 0.0), (2, 9.99), (3, 10.0), (4, 99.0)]] == pytest.approx(
        [0.75, 0.75, 1.25, 1.75]
    )


def test_a_latency_draws_what_it_draws_in_the_plan() -> None:
    plan = wall(Drop(probability=0), Latency(2.0, jitter=1.0, distribution="uniform", correlation=0.5))
    fault = plan.plan.faults[1]
    assert isinstance(fault, Latency)
    drawn = fault.seconds(plan.plan.stream(1, 0), range(1, 51))
    assert [delay(plan, s, 7.0) for s in range(1, 51)] == pytest.approx(drawn.tolist())
    assert len(set(drawn.tolist())) == 50


def test_a_span_is_about_the_moment_of_submission() -> None:
    plan = wall(Latency(1.0), Drop(), spans=((2.0, 4.0), (6.0, math.inf)), pace=None)
    assert [delay(plan, 1, age) for age in (0.0, 1.99, 2.0, 3.99, 4.0, 5.9)] == pytest.approx(
        [0, 0, 1, 1, 0, 0]
    )
    assert [delay(plan, 1, age) for age in (6.0, 60.0)] == [None, None]


def test_a_window_in_rounds_is_about_the_round_whatever_the_moment() -> None:
    plan = wall(Latency(1.0, window=(3, 5)), pace=None)
    assert [delay(plan, s, 50.0) for s in (2, 3, 4, 5)] == [0.0, 1.0, 1.0, 0.0]


def test_a_ramp_in_time_starts_with_its_span() -> None:
    plan = wall(Ramp(0.5, 2, 0.5, 1, "seconds"), spans=((10.0, 20.0),), pace=None)
    assert [delay(plan, 1, age) for age in (9.9, 10.0, 11.0, 15.0, 20.0)] == pytest.approx([0, 0.5, 1, 2, 0])


def test_a_ramp_that_starts_with_a_round_follows_the_pace() -> None:
    plan = wall(Ramp(0.5, 2, 0.5, PACE, "seconds", window=(10, None)))
    assert [delay(plan, s, 50.0) for s in (9, 10, 11, 99)] == pytest.approx([0, 0.5, 1, 2])


def test_blackouts_hold_what_is_due_in_them_and_chain() -> None:
    hold = Blackout(window=(1, None))
    plan = wall(Latency(0.5), hold, hold, spans=(None, (10.0, 12.0), (11.5, 13.0)), pace=None)
    due = [plan.due(0, 1, START + age, START) for age in (9.0, 9.4, 9.5, 11.0, 12.4, 12.5)]
    assert due == pytest.approx([START + age for age in (9.5, 9.9, 13.0, 13.0, 13.0, 13.0)])


def test_a_blackout_in_rounds_lasts_those_ticks() -> None:
    plan = wall(Blackout(window=(5, 9)))
    assert plan.due(0, 4, START + 0.9, START) == START + 0.9
    assert plan.due(0, 5, START + 1.0, START) == START + 2.0


def test_a_blackout_without_end_and_a_drop_never_come() -> None:
    assert delay(wall(Blackout(window=(1, None))), 1, 0.0) is None
    assert delay(wall(Blackout(window=(1, None)), spans=((5.0, math.inf),)), 1, 5.0) is None
    assert delay(wall(Blackout(window=(1, None)), spans=((5.0, math.inf),)), 1, 4.0) == 0.0
    assert delay(wall(Drop(), Latency(9.0)), 1, 0.0) is None


def test_a_drop_meets_its_share() -> None:
    plan = wall(Drop(probability=0.25))
    lost = [delay(plan, s, 0.0) is None for s in range(1, 401)]
    gates = plan.plan.stream(0, 0).gates(range(1, 401))
    assert lost == (gates < 0.25).tolist()
    assert np.mean(lost) == pytest.approx(0.25, abs=0.07)


def test_faults_are_on_their_agents_links() -> None:
    plan = wall(Latency(1.0, agents=(2,)))
    assert [plan.due(agent, 1, START, START) for agent in range(3)] == [START, START, START + 1.0]


def test_a_tail_beyond_all_bounds_is_cut() -> None:
    plan = wall(*[Latency(2.0**53, jitter=2.0**53, distribution="pareto")] * 3)
    assert delay(plan, 1, 0.0) == pytest.approx(2.0**53)


def test_what_the_wall_clock_cannot_count_is_refused() -> None:
    with pytest.raises(InputError, match=r"an adversary counts in rounds: .* set clock=rounds, or remove it"):
        wall(Adversary("burst", 4))
    with pytest.raises(InputError, match="a rounds counted in rounds needs clock rounds"):
        wall(Rounds(3))
    with pytest.raises(InputError, match="a ramp counted in rounds needs clock rounds"):
        wall(Ramp(1, 3, 1, 1))
    for fault in (Blackout(window=(5, 9)), Ramp(0, 1, 1, 1, "seconds", window=(5, None))):
        with pytest.raises(InputError, match=rf"a {fault.type} that begins .* set `pace`"):
            wall(fault, pace=None)
    with pytest.raises(InputError, match="1 spans of time for 2 faults"):
        wall(Latency(1.0), Drop(), spans=(None,))
