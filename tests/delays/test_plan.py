"""A plan counted in rounds: the table of delays that its faults add up to."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from delay_plans import fault, plan_of, rules
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays.agents import Draw, chosen
from edgefw.delays.units import MOST_ROUNDS, NEVER, format_duration
from edgefw.errors import InputError

if TYPE_CHECKING:
    from edgefw.delays.fault import Fault
    from edgefw.delays.plan import Plan

TIMES = st.floats(0, 5).map(format_duration)
SOME_TIME = st.floats(0.1, 5).map(format_duration)
COMMON = {
    "agents": st.one_of(st.just("all"), st.lists(st.integers(0, 3), unique=True)),
    "probability": st.floats(0, 1),
    "apply_to": st.sampled_from(["new", "pending"]),
    "at": st.integers(0, 20),
    "duration": st.integers(1, 20),
}
JITTERED = {
    "distribution": st.sampled_from(["uniform", "normal", "exponential", "lognormal", "pareto"]),
    "correlation": st.floats(0, 1),
    "seed": st.integers(0, 5),
}


def some(type_: str, fields: dict[str, Any] | None = None, **optional: Any) -> st.SearchStrategy[Fault]:
    own = st.fixed_dictionaries(fields or {}, optional={**COMMON, **optional})
    return own.map(lambda written: fault(type_, **written))


PERIODIC = st.sampled_from(["burst", "newest_first", "starve", "largest"])
EITHER = (
    some("drop"),
    some("blackout"),
    some("adversary", {"strategy": PERIODIC, "period": st.integers(1, 9)}),
    some("adversary", {"strategy": st.just("until_end")}),
)
OF_ROUNDS = st.one_of(
    some("rounds", {"rounds": st.integers(1, 30)}, jitter=st.integers(1, 9), **JITTERED),
    some("ramp", dict.fromkeys(("start", "stop", "step", "interval"), st.integers(1, 9))),
    *EITHER,
)
OF_TIMES = st.one_of(
    some("latency", {"latency": TIMES, "jitter": SOME_TIME}, **JITTERED),
    some("ramp", {"start": TIMES, "stop": TIMES, "step": SOME_TIME, "interval": SOME_TIME}),
    *EITHER,
)


def made(faults: list[Fault], seed: int, pace: float | None) -> Plan:
    return plan_of(rules(agents=4, rounds=30, seed=seed, pace=pace), *faults)


SEEDS = st.integers(0, 2**64)
PLANS = st.one_of(
    st.builds(made, st.lists(OF_ROUNDS, max_size=4), SEEDS, st.none()),
    st.builds(made, st.lists(OF_TIMES, max_size=4), SEEDS, st.just(0.5)),
)


def of_length(plan: Plan, T: int) -> Plan:
    return dataclasses.replace(plan, rules=dataclasses.replace(plan.rules, rounds=T))


def row(*faults: Fault, T: int = 12, pace: float | None = None, salts: tuple[int, ...] | None = None) -> Any:
    return plan_of(rules(rounds=T, pace=pace), *faults, salts=salts).table()[0].tolist()


def arrivals_of(*faults: Fault, T: int = 12) -> list[int]:
    return [s + delay - 1 for s, delay in enumerate(row(*faults, T=T), start=1)]


def late(rounds: int, **fields: Any) -> Fault:
    return fault("rounds", rounds=rounds, **fields)


def adversary(strategy: str, period: int | str | None = None, **fields: Any) -> Fault:
    given = {} if period is None else {"period": period}
    return fault("adversary", strategy=strategy, **given, **fields)


def outage(at: int, duration: int | str | None = None, **fields: Any) -> Fault:
    return fault("blackout", at=at, **({} if duration is None else {"duration": duration}), **fields)


@settings(deadline=None, max_examples=120)
@given(PLANS, st.integers(1, 30), st.data())
def test_a_round_alone_has_the_delay_of_its_column(plan: Plan, T: int, data: st.DataObject) -> None:
    plan = of_length(plan, T)
    table = plan.table()
    assert table.shape == (4, T)
    assert table.dtype == np.int64
    assert (table >= 1).all()
    assert (table <= NEVER).all()
    agent, s = data.draw(st.integers(0, 3)), data.draw(st.integers(1, T))
    assert plan.delays(agent, range(s, s + 1)).tolist() == [table[agent, s - 1]]
    assert np.array_equal(table, of_length(plan, T).table())


@settings(deadline=None, max_examples=60)
@given(PLANS)
def test_a_longer_run_begins_like_a_shorter_one_unless_someone_waits_for_the_end(plan: Plan) -> None:
    kept = tuple(entry for entry in plan.entries if not entry.fault.waits_for_end)
    plan = dataclasses.replace(plan, entries=kept)
    assert np.array_equal(of_length(plan, 30).table()[:, :11], of_length(plan, 11).table())


@settings(deadline=None, max_examples=60)
@given(PLANS, st.floats(0, 1))
def test_a_drop_wins_over_everything(plan: Plan, probability: float) -> None:
    alone = plan_of(plan.rules, fault("drop", probability=probability), salts=(99,))
    together = dataclasses.replace(plan, entries=(*alone.entries, *plan.entries))
    assert (together.table()[alone.table() == NEVER] == NEVER).all()


def test_without_faults_nothing_is_late() -> None:
    assert plan_of(rules(agents=3, rounds=5)).table().tolist() == [[1] * 5] * 3


def test_the_papers_delayed_agents() -> None:
    table = plan_of(rules(agents=3, rounds=1000), late(501, agents=[0, 2])).table()
    assert set(table[0].tolist()) == set(table[2].tolist()) == {501}
    assert set(table[1].tolist()) == {1}


def test_faults_on_a_link_add_up() -> None:
    assert row(late(3), late(5), T=2) == [7, 7]
    third = fault("latency", latency="300ms")
    assert row(third, third, T=2, pace=0.25) == [3, 3]  # 0.6 s are two whole rounds
    assert row(late(4), fault("ramp", start=1, stop=3, step=1, interval=1), T=4) == [4, 5, 6, 6]
    climbing = fault("ramp", start="0s", stop="1s", step="500ms", interval="500ms")
    assert row(climbing, fault("latency", latency="250ms"), T=6, pace=0.25) == [2, 2, 4, 4, 6, 6]


def test_a_ramps_time_runs_from_its_beginning() -> None:
    ramp = fault("ramp", start=2, stop=9, step=1, interval=1, at=3, duration=3)
    assert row(ramp, T=7) == [1, 1, 2, 3, 4, 1, 1]


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10_000), st.floats(0.001, 100))
def test_a_latency_of_k_rounds_is_a_delay_of_k_plus_one(k: int, pace: float) -> None:
    def delays(rounds: float) -> Any:
        return row(fault("latency", latency=format_duration(rounds * pace)), T=1, pace=pace)

    assert delays(k) == [k + 1]
    if k:
        assert delays(k - 0.001) == [k]


def test_two_faults_alike_draw_apart_and_the_same_salt_draws_together() -> None:
    one = late(10, jitter=9)
    single, both = (np.array(row(*[one] * count, T=200)) - 1 for count in (1, 2))
    assert not np.array_equal(both, 2 * single)
    together = np.array(row(one, one, T=200, salts=(1, 1))) - 1
    assert np.array_equal(together, 2 * single)


def test_links_draw_apart() -> None:
    table = plan_of(rules(agents=3, rounds=100), late(10, jitter=9)).table()
    assert len({tuple(each) for each in table.tolist()}) == 3


def test_blackouts_hold_arrivals_to_their_end() -> None:
    assert arrivals_of(outage(3, 3), T=8) == [1, 2, 6, 6, 6, 6, 7, 8]
    assert arrivals_of(late(3), outage(3, 3), T=8) == [6, 6, 6, 6, 7, 8, 9, 10]


def test_overlapping_blackouts_chain_in_any_order() -> None:
    chain = (outage(5, 4), outage(8, 3), outage(3, 3))
    expected = [1, 2] + [11] * 9 + [12]
    assert arrivals_of(*chain) == arrivals_of(*reversed(chain)) == expected


def test_a_blackout_without_end_releases_nothing() -> None:
    assert row(outage(3), T=4) == [1, 1, NEVER, NEVER]


def test_a_burst_arrives_at_period_ends_only() -> None:
    assert arrivals_of(adversary("burst", 4), T=10) == [4] * 4 + [8] * 4 + [12] * 2
    jittered = np.array(arrivals_of(late(6, jitter=5), adversary("burst", 5), T=200))
    plain = np.array(arrivals_of(late(6, jitter=5), T=200))
    assert (jittered % 5 == 0).all()
    assert ((jittered >= plain) & (jittered < plain + 5)).all()


def test_newest_first_reverses_each_period_one_a_round() -> None:
    assert arrivals_of(adversary("newest_first", 4), T=8) == [7, 6, 5, 4, 11, 10, 9, 8]
    delayed = arrivals_of(late(3), adversary("newest_first", 4), T=10)  # due in 3, 4 | 5..8 | 9..12
    assert delayed == [5, 4, 11, 10, 9, 8, 15, 14, 13, 12]


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 12), st.integers(1, 12))
def test_newest_first_is_strictly_reversed_within_periods(period: int, delay: int) -> None:
    T = 60
    found = np.array(arrivals_of(late(delay), adversary("newest_first", period), T=T))
    due = np.arange(1, T + 1) + delay - 1
    for number in np.unique(-(-due // period)):
        inside = found[-(-due // period) == number]
        assert (np.diff(inside) == -1).all()
    assert len(set(found.tolist())) == T
    assert (found >= due).all()


def test_until_end_everything_arrives_at_the_horizon() -> None:
    assert arrivals_of(adversary("until_end"), T=9) == [9] * 9
    assert arrivals_of(late(3), adversary("until_end"), T=5) == [5, 5, 5, 6, 7]


def test_starvation_lets_one_in_a_period_through() -> None:
    assert row(adversary("starve", 3), T=7) == [1, NEVER, NEVER, 1, NEVER, NEVER, 1]
    assert row(late(2), adversary("starve", 3), T=4) == [2, NEVER, NEVER, 2]


def test_adversaries_act_in_turn_after_the_blackouts_and_release_nothing_inside_them() -> None:
    assert arrivals_of(adversary("burst", 4), outage(2, 5), T=6) == [7, 8, 8, 8, 8, 8]
    assert arrivals_of(adversary("starve", 2), adversary("until_end"), T=3) == [3, NEVER + 1, 3]


def test_a_fault_on_what_is_pending_holds_it_no_longer_than_its_window() -> None:
    window = {"at": 5, "duration": 4, "apply_to": "pending"}
    held = late(6, **window)  # due in 5..8 without it: held, let go in 9 at the latest
    assert arrivals_of(held, T=10) == [1, 2, 3, 4, 9, 9, 9, 9, 9, 10]
    assert arrivals_of(late(3), held, T=8) == [3, 4, 9, 9, 9, 9, 9, 10]
    assert arrivals_of(late(3, **window), T=10) == [1, 2, 3, 4, 7, 8, 9, 9, 9, 10]
    assert arrivals_of(late(6, at=5, duration=4), T=10) == [1, 2, 3, 4, 10, 11, 12, 13, 9, 10]
    assert arrivals_of(late(3, apply_to="pending"), T=3) == [3, 4, 5]


def test_a_drop_of_what_is_pending_takes_what_is_held_then() -> None:
    drop = fault("drop", at=5, duration=2, apply_to="pending")
    # Round 4 has come, round 6 is submitted.
    assert row(late(3), drop, T=8) == [3, 3] + [NEVER] * 4 + [3, 3]
    assert row(drop, T=8) == [1] * 4 + [NEVER] * 2 + [1, 1]


def test_what_is_let_go_inside_a_blackout_is_held_by_it() -> None:
    held = late(20, at=5, duration=4, apply_to="pending")
    assert arrivals_of(held, outage(8, 4), T=9) == [1, 2, 3, 4, 12, 12, 12, 12, 12]


def test_where_nobody_knows_the_norms_the_largest_are_drawn() -> None:
    found = np.array(arrivals_of(adversary("largest", 2**39, share=0.3), T=3000))
    assert (found == 2**39).mean() == pytest.approx(0.3, abs=0.04)
    assert (found[found < 2**39] == np.arange(1, 3001)[found < 2**39]).all()


def test_never_stays_never_without_overflow() -> None:
    strategies = [adversary("burst", 7), adversary("newest_first", MOST_ROUNDS), adversary("until_end")]
    for each in (*strategies, outage(1, MOST_ROUNDS), late(MOST_ROUNDS)):
        assert row(fault("drop"), each, T=3) == [NEVER] * 3
        assert row(outage(1), each, T=3) == [NEVER] * 3
    assert row(*[late(MOST_ROUNDS)] * 5, T=1) == [5 * MOST_ROUNDS - 4]
    assert row(*[fault("latency", latency=f"{2**53}s")] * 2, T=1, pace=1e-9) == [2**53 + 1]


def test_a_heavy_tail_never_becomes_never() -> None:
    heavy = late(1, jitter=1, distribution="pareto").model_copy(update={"rounds": 2**53, "jitter": 2**53})
    assert set(row(heavy, T=50)) == {2**53}


def test_times_need_the_length_of_a_round() -> None:
    asap = dataclasses.replace(rules(), clock="wall")
    ramp = fault("ramp", start="0s", stop="1s", step="1s", interval="1s")
    timed = (fault("latency", latency="1s"), ramp, fault("drop", at="5s"), outage(3, "5s"))
    for each in (*timed, adversary("burst", "5s")):
        with pytest.raises(InputError, match=r"^fault-0 counts in time, .*: set pace=250ms, say, or clock="):
            plan_of(asap, each).table()
    assert plan_of(asap, outage(3, 2), adversary("burst", 2)).table().shape == (1, 12)


def test_agents_drawn_are_distinct_and_sorted() -> None:
    counts = []
    for seed in range(200):
        drawn = chosen(Draw(draw=20, replacement=True), 30, np.random.default_rng(seed))
        assert drawn is not None
        assert list(drawn) == sorted(set(drawn))
        counts.append(len(drawn))
    assert np.mean(counts) == pytest.approx(30 * (1 - (29 / 30) ** 20), abs=0.4)  # 14.8
    one = np.random.default_rng(1)
    assert len(chosen(Draw(draw=20), 30, one) or ()) == 20
    assert chosen(Draw(draw=0), 30, one) == ()
    assert chosen([4, 1, 4], 30, one) == (1, 4)
    assert chosen("all", 30, one) is None
    with pytest.raises(InputError, match=r"^agents\.draw is 31: there are only 30 agents"):
        chosen(Draw(draw=31), 30, one)
