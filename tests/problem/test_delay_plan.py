from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
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
    delayed_agents,
)

WINDOWS = st.one_of(
    st.none(),
    st.tuples(st.integers(1, 20), st.integers(1, 20)).map(lambda w: (w[0], w[0] + w[1])),
    st.integers(1, 20).map(lambda start: (start, None)),
)
COMMON = {
    "agents": st.one_of(st.none(), st.sets(st.integers(0, 3)).map(lambda ids: tuple(sorted(ids)))),
    "probability": st.floats(0, 1),
    "salt": st.one_of(st.none(), st.integers(0, 5)),
    "pending": st.booleans(),
}
JITTERED = {
    "jitter": st.integers(0, 9),
    "distribution": st.sampled_from([None, "uniform", "normal", "exponential", "lognormal", "pareto"]),
    "correlation": st.floats(0, 1),
}
FAULTS: st.SearchStrategy[Fault] = st.one_of(
    st.builds(Latency, st.floats(0, 5), window=WINDOWS, **COMMON, **JITTERED),
    st.builds(Rounds, st.integers(1, 30), window=WINDOWS, **COMMON, **JITTERED),
    st.builds(Ramp, st.integers(1, 9), st.integers(1, 9), st.floats(0.1, 5), st.floats(0.1, 5), **COMMON),
    st.builds(Drop, window=WINDOWS, **COMMON),
    st.builds(Blackout, window=WINDOWS.filter(lambda w: w is not None), **COMMON),
    st.builds(
        Adversary,
        st.sampled_from(["burst", "newest_first", "starve", "largest"]),
        st.integers(1, 9),
        window=WINDOWS,
        **COMMON,
    ),
    st.builds(Adversary, st.just("until_end"), window=WINDOWS, **COMMON),
)
PLANS = st.builds(DelayPlan, st.lists(FAULTS, max_size=4).map(tuple), st.just(4), st.integers(0, 2**64))


def row(*faults: Fault, T: int = 12, round_seconds: float | None = None) -> list[int]:
    return [int(d) for d in DelayPlan(faults, agents=1, seed=0).table(T, round_seconds)[0]]


def arrivals_of(*faults: Fault, T: int = 12) -> list[int]:
    return [s + delay - 1 for s, delay in enumerate(row(*faults, T=T), start=1)]


@settings(deadline=None, max_examples=120)
@given(PLANS, st.integers(1, 30), st.data())
def test_a_round_alone_has_the_delay_of_its_column(plan: DelayPlan, T: int, data: st.DataObject) -> None:
    table = plan.table(T, 0.5)
    assert table.shape == (4, T)
    assert table.dtype == np.int64
    assert (table >= 1).all()
    assert (table <= NEVER).all()
    agent, s = data.draw(st.integers(0, 3)), data.draw(st.integers(1, T))
    alone = plan.delays(agent, range(s, s + 1), T=T, round_seconds=0.5)
    assert alone.tolist() == [table[agent, s - 1]]
    assert np.array_equal(table, DelayPlan(plan.faults, plan.agents, plan.seed).table(T, 0.5))


@settings(deadline=None, max_examples=60)
@given(PLANS)
def test_a_longer_run_begins_like_a_shorter_one_unless_someone_waits_for_the_end(plan: DelayPlan) -> None:
    faults = tuple(f for f in plan.faults if not (isinstance(f, Adversary) and f.strategy == "until_end"))
    kept = DelayPlan(faults, plan.agents, plan.seed)
    assert np.array_equal(kept.table(30, 0.5)[:, :11], kept.table(11, 0.5))


@settings(deadline=None, max_examples=60)
@given(PLANS, st.floats(0, 1))
def test_a_drop_wins_over_everything(plan: DelayPlan, probability: float) -> None:
    drop = Drop(probability=probability, salt=99)
    alone = DelayPlan((drop,), 4, plan.seed).table(20)
    with_others = DelayPlan((drop, *plan.faults), 4, plan.seed).table(20, 0.5)
    assert (with_others[alone == NEVER] == NEVER).all()


def test_without_faults_nothing_is_late() -> None:
    assert DelayPlan((), agents=3, seed=1).table(5).tolist() == [[1] * 5] * 3


def test_the_papers_delayed_agents() -> None:
    table = DelayPlan((Rounds(501, agents=(0, 2)),), agents=3, seed=1).table(1000)
    assert set(table[0].tolist()) == set(table[2].tolist()) == {501}
    assert set(table[1].tolist()) == {1}


def test_faults_on_a_link_add_up() -> None:
    assert row(Rounds(3), Rounds(5), T=2) == [7, 7]
    assert row(Latency(0.3), Latency(0.3), T=2, round_seconds=0.25) == [3, 3]  # 0.6 s are two whole rounds
    assert row(Rounds(4), Latency(0.5), T=2, round_seconds=0.25) == [6, 6]
    assert row(Rounds(4), Ramp(1, 3, 1, 1), T=4) == [4, 5, 6, 6]
    seconds = Ramp(0, 1, step=0.5, interval=0.5, unit="seconds")
    assert row(seconds, Latency(0.25), T=6, round_seconds=0.25) == [2, 2, 4, 4, 6, 6]


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10_000), st.floats(0.001, 100))
def test_a_latency_of_k_rounds_is_a_delay_of_k_plus_one(k: int, pace: float) -> None:
    assert row(Latency(k * pace), T=1, round_seconds=pace) == [k + 1]
    if k:
        assert row(Latency((k - 0.001) * pace), T=1, round_seconds=pace) == [k]


def test_two_faults_alike_draw_apart_and_the_same_salt_draws_together() -> None:
    one, twin = Rounds(10, jitter=9), Rounds(10, jitter=9, salt=4)
    single = np.array(row(one, T=200)) - 1
    both = np.array(row(one, one, T=200)) - 1
    assert not np.array_equal(both, 2 * single)
    together = np.array(row(twin, twin, T=200)) - 1
    assert np.array_equal(together, 2 * (np.array(row(twin, T=200)) - 1))


@pytest.mark.parametrize("salt", range(6))
def test_a_given_salt_is_never_the_one_of_a_position(salt: int) -> None:
    loose, salted = Rounds(10, jitter=9), Rounds(10, jitter=9, salt=salt)
    for position in range(6):
        assert row(*[Drop(probability=0)] * position, loose, T=50) != row(salted, T=50)


def test_a_salted_fault_keeps_its_draws_when_others_come_and_go() -> None:
    fault = Rounds(10, jitter=9, salt=0)
    assert row(Rounds(1), Drop(probability=0), fault, T=50) == row(fault, T=50)


def test_agents_draw_apart() -> None:
    table = DelayPlan((Rounds(10, jitter=9),), agents=3, seed=0).table(100)
    assert len({tuple(each) for each in table.tolist()}) == 3


def test_blackouts_hold_arrivals_to_their_end() -> None:
    assert arrivals_of(Blackout(window=(3, 6)), T=8) == [1, 2, 6, 6, 6, 6, 7, 8]
    assert arrivals_of(Rounds(3), Blackout(window=(3, 6)), T=8) == [6, 6, 6, 6, 7, 8, 9, 10]


def test_overlapping_blackouts_chain_in_any_order() -> None:
    chain = (Blackout(window=(5, 9)), Blackout(window=(8, 11)), Blackout(window=(3, 6)))
    expected = [1, 2] + [11] * 9 + [12]
    assert arrivals_of(*chain) == arrivals_of(*reversed(chain)) == expected


def test_a_blackout_without_end_releases_nothing() -> None:
    assert row(Blackout(window=(3, None)), T=4) == [1, 1, NEVER, NEVER]


def test_a_burst_arrives_at_period_ends_only() -> None:
    assert arrivals_of(Adversary("burst", 4), T=10) == [4] * 4 + [8] * 4 + [12] * 2
    jittered = np.array(arrivals_of(Rounds(6, jitter=5), Adversary("burst", 5), T=200))
    plain = np.array(arrivals_of(Rounds(6, jitter=5), T=200))
    assert (jittered % 5 == 0).all()
    assert ((jittered >= plain) & (jittered < plain + 5)).all()


def test_newest_first_reverses_each_period_one_a_round() -> None:
    assert arrivals_of(Adversary("newest_first", 4), T=8) == [7, 6, 5, 4, 11, 10, 9, 8]
    delayed = arrivals_of(Rounds(3), Adversary("newest_first", 4), T=10)  # due in 3, 4 | 5..8 | 9..12
    assert delayed == [5, 4, 11, 10, 9, 8, 15, 14, 13, 12]


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 12), st.integers(1, 12))
def test_newest_first_is_strictly_reversed_within_periods(period: int, delay: int) -> None:
    T = 60
    found = np.array(arrivals_of(Rounds(delay), Adversary("newest_first", period), T=T))
    due = np.arange(1, T + 1) + delay - 1
    for number in np.unique(-(-due // period)):
        inside = found[-(-due // period) == number]
        assert (np.diff(inside) == -1).all()
    assert len(set(found.tolist())) == T
    assert (found >= due).all()


def test_until_end_everything_arrives_at_the_horizon() -> None:
    assert arrivals_of(Adversary("until_end"), T=9) == [9] * 9
    assert arrivals_of(Rounds(3), Adversary("until_end"), T=5) == [5, 5, 5, 6, 7]


def test_starvation_lets_one_in_a_period_through() -> None:
    assert row(Adversary("starve", 3), T=7) == [1, NEVER, NEVER, 1, NEVER, NEVER, 1]
    assert row(Rounds(2), Adversary("starve", 3), T=4) == [2, NEVER, NEVER, 2]


def test_adversaries_act_in_turn_after_the_blackouts_and_release_nothing_inside_them() -> None:
    assert arrivals_of(Adversary("burst", 4), Blackout(window=(2, 7)), T=6) == [7, 8, 8, 8, 8, 8]
    assert arrivals_of(Adversary("starve", 2), Adversary("until_end"), T=3) == [3, NEVER + 1, 3]


def test_a_fault_on_what_is_pending_holds_it_no_longer_than_its_window() -> None:
    held = Rounds(6, window=(5, 9), pending=True)  # due in 5..8 without it: held, let go in 9 at the latest
    assert arrivals_of(held, T=10) == [1, 2, 3, 4, 9, 9, 9, 9, 9, 10]
    assert arrivals_of(Rounds(3), held, T=8) == [3, 4, 9, 9, 9, 9, 9, 10]
    shorter = Rounds(3, window=(5, 9), pending=True)
    assert arrivals_of(shorter, T=10) == [1, 2, 3, 4, 7, 8, 9, 9, 9, 10]
    assert arrivals_of(Rounds(6, window=(5, 9)), T=10) == [1, 2, 3, 4, 10, 11, 12, 13, 9, 10]
    assert arrivals_of(Rounds(3, pending=True), T=3) == [3, 4, 5]


def test_a_drop_of_what_is_pending_takes_what_is_held_then() -> None:
    drop = Drop(window=(5, 7), pending=True)
    assert row(Rounds(3), drop, T=8) == [3, 3] + [NEVER] * 4 + [
        3,
        3,
    ]  # round 4 has come, round 6 is submitted
    assert row(drop, T=8) == [1] * 4 + [NEVER] * 2 + [1, 1]


def test_what_is_let_go_inside_a_blackout_is_held_by_it() -> None:
    held, outage = Rounds(20, window=(5, 9), pending=True), Blackout(window=(8, 12), pending=True)
    assert arrivals_of(held, outage, T=9) == [1, 2, 3, 4, 12, 12, 12, 12, 12]


def test_where_nobody_knows_the_norms_the_largest_are_drawn() -> None:
    found = np.array(arrivals_of(Adversary("largest", 2**40, share=0.3), T=3000))
    assert (found == 2**40).mean() == pytest.approx(0.3, abs=0.04)
    assert (found[found < 2**40] == np.arange(1, 3001)[found < 2**40]).all()


def test_never_stays_never_without_overflow() -> None:
    strategies = [Adversary("burst", 7), Adversary("newest_first", 2**53), Adversary("until_end")]
    for fault in (*strategies, Blackout(window=(1, 2**53)), Rounds(2**53)):
        assert row(Drop(), fault, T=3) == [NEVER] * 3
        assert row(Blackout(window=(1, None)), fault, T=3) == [NEVER] * 3
    assert row(*[Rounds(2**53)] * 5, Latency(2**53), T=1, round_seconds=1e-9) == [2**53 + 1]


def test_a_heavy_tail_never_becomes_never() -> None:
    table = DelayPlan((Rounds(2**53, jitter=2**53, distribution="pareto"),), agents=1, seed=0).table(50)
    assert (table == 2**53).all()


def test_a_latency_needs_the_length_of_a_round() -> None:
    for fault in (Latency(1.0), Ramp(0, 1, 1, 1, unit="seconds")):
        with pytest.raises(InputError, match=r"set `pace` .* or give the delay in `rounds`"):
            row(fault)
        with pytest.raises(InputError, match="a round of 0 seconds has no length"):
            row(fault, round_seconds=0)


def test_agents_seed_and_horizon_are_checked() -> None:
    with pytest.raises(InputError, match=r"a rounds fault names agent 3: agents are 0\.\.2"):
        DelayPlan((Rounds(2, agents=(0, 3)),), agents=3, seed=0)
    with pytest.raises(InputError, match="seed is -1"):
        DelayPlan((), agents=3, seed=-1)
    with pytest.raises(InputError, match="`agents` is 0"):
        DelayPlan((), agents=0, seed=0)
    with pytest.raises(InputError, match="`horizon` is 0"):
        DelayPlan((), agents=1, seed=0).table(0)


def test_delayed_agents_are_distinct_and_sorted() -> None:
    counts = []
    for seed in range(200):
        drawn = delayed_agents(30, 20, np.random.default_rng(seed), with_replacement=True)
        assert list(drawn) == sorted(set(drawn))
        counts.append(len(drawn))
    assert np.mean(counts) == pytest.approx(30 * (1 - (29 / 30) ** 20), abs=0.4)  # 14.8
    assert len(delayed_agents(30, 20, np.random.default_rng(1), with_replacement=False)) == 20
    assert delayed_agents(30, 0, np.random.default_rng(1), with_replacement=False) == ()
    with pytest.raises(InputError, match="f is 31: there are only 30 agents"):
        delayed_agents(30, 31, np.random.default_rng(1), with_replacement=False)
    with pytest.raises(InputError, match="`f` is -1"):
        delayed_agents(30, -1, np.random.default_rng(1), with_replacement=True)
