"""A scenario's plan in the broker: the simulator's delays in rounds, and moments by the wall clock."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays.draws import Draws
from edgefw.delays.dues import Messages, round_dues, wall_dues
from edgefw.delays.latency import Latency
from edgefw.delays.units import NEVER
from edgefw.errors import InputError
from edgefw.scenario.load import dump, load, names, validate
from edgefw.scenario.plan import delay_plan, scenario_plan

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

START = 50.0
TIMES = [0.0, 1.0, 9.9, 10.0, 14.9, 15.0, 99.0]
T = 24

WINDOW = {"at": st.integers(0, 20), "duration": st.integers(1, 9)}
COMMON = {
    "probability": st.sampled_from([0.0, 0.4, 1.0]),
    "apply_to": st.sampled_from(["new", "pending"]),
    "agents": st.one_of(
        st.just("all"), st.lists(st.integers(0, 3), max_size=3), st.builds(dict, draw=st.just(2))
    ),
    **WINDOW,
}
DRAWN = {
    "jitter": st.integers(0, 5),
    "distribution": st.sampled_from(["uniform", "normal", "exponential", "lognormal", "pareto"]),
    "correlation": st.sampled_from([0.0, 0.5]),
    "seed": st.integers(0, 3),
}


def some(
    kind: str, fields: dict[str, Any] | None = None, **optional: Any
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **(fields or {})}, optional=COMMON | optional)


RAMP = {name: st.integers(1, 9) for name in ("start", "stop", "step", "interval")}
STRATEGY = {"strategy": st.sampled_from(["burst", "newest_first", "starve"]), "period": st.integers(1, 6)}
FAULTS = st.one_of(
    some("rounds", {"rounds": st.integers(1, 12)}, **DRAWN),
    some("rounds", {"trace": st.lists(st.integers(1, 9), min_size=1, max_size=4)}),
    some("ramp", RAMP),
    some("drop"),
    some("blackout"),
    some("adversary", STRATEGY),
    some("adversary", {"strategy": st.just("until_end")}),
)


def counted(faults: list[dict[str, Any]], seed: int) -> Scenario:
    document = {"clock": "rounds", "network": {"agents": 4}, "seed": seed, "delays": faults}
    return validate({**document, "algorithm": {"horizon": T}}, source="test")


@settings(deadline=None, max_examples=200)
@given(st.lists(FAULTS, max_size=4), st.integers(0, 2**40))
def test_in_rounds_it_is_the_simulators_table_bit_for_bit(faults: list[dict[str, Any]], seed: int) -> None:
    scenario = counted(faults, seed)
    table, plan = delay_plan(scenario).table(), scenario_plan(scenario)
    rounds = np.arange(1, T + 1)
    for agent in range(4):
        own, later = plan.own(agent, None), plan.later(agent, None)
        found = round_dues(own, later, Messages(rounds, np.zeros(T), np.zeros(T)), plan.rules)
        expected = np.where(table[agent] == NEVER, math.inf, table[agent] + rounds - 1)
        assert np.array_equal(found.due, expected)
        for s in (1, T // 2, T):
            one = Messages(rounds[s - 1 : s], np.zeros(1), np.zeros(1))
            assert round_dues(own, later, one, plan.rules, now=s).due[0] == expected[s - 1]


@settings(deadline=None, max_examples=100)
@given(st.lists(FAULTS, max_size=4), st.integers(0, 2**40))
def test_no_delay_is_longer_than_the_longest(faults: list[dict[str, Any]], seed: int) -> None:
    scenario = counted(faults, seed)
    longest = scenario_plan(scenario).longest()
    table = delay_plan(scenario).table()
    if longest is None:
        assert any(fault.get("jitter") and fault["type"] == "rounds" for fault in faults)
    else:
        assert 1 <= longest <= T
        assert np.minimum(table[table < NEVER], T).max(initial=1) <= longest


def scenario(*faults: dict[str, Any], events: tuple[dict[str, Any], ...] = (), pace: str = "1s") -> Scenario:
    document = {"network": {"agents": 4}, "pace": pace, "delays": list(faults), "events": list(events)}
    return validate(document, source="test")


def late(
    made: Scenario, rounds: list[int], ages: list[float], agent: int = 0, ranks: list[float] | None = None
) -> list[float | None]:
    """Return the delays, to the microsecond, of feedback of these rounds submitted at these times."""
    plan, found = scenario_plan(made), []
    for k, (s, age) in enumerate(zip(rounds, ages, strict=True)):
        rank = 0.0 if ranks is None else ranks[k]
        one = Messages(np.array([s]), np.array([START + age]), np.array([rank]))
        dues = wall_dues(
            plan.own(agent, START),
            plan.later(agent, START),
            one,
            plan.rules,
            now=START + age,
            start=START,
            ended=False,
        )
        found.append(None if math.isinf(dues.due[0]) else round(float(dues.due[0]) - START - age, 6))
    return found


def test_a_time_is_real_time_whatever_the_round() -> None:
    event = {"type": "latency", "latency": "2s", "at": "10s", "duration": "5s"}
    for pace in ("1s", "20ms", "asap"):
        assert late(scenario(events=(event,), pace=pace), [7] * 7, TIMES) == [0, 0, 0, 2, 2, 0, 0]


def test_a_round_is_that_round_whatever_the_time() -> None:
    event = {"type": "latency", "latency": "2s", "at": "5 rounds", "duration": "2 rounds"}
    for pace in ("1s", "20ms", "asap"):
        assert late(scenario(events=(event,), pace=pace), [4, 5, 6, 7], [11.0] * 4) == [0, 2, 2, 0]
    lasting = {"type": "drop", "at": "3 rounds"}
    assert late(scenario(events=(lasting,)), [1, 2, 3, 99], [0.0] * 4) == [0, 0, None, None]


def test_a_duration_alone_counts_from_the_start() -> None:
    assert late(scenario({"type": "latency", "latency": "2s", "duration": "10s"}), [9] * 7, TIMES) == [
        *[2, 2, 2],
        *[0, 0, 0, 0],
    ]
    assert late(
        scenario({"type": "latency", "latency": "2s", "duration": "3 rounds"}), [3, 4], [50.0, 0.0]
    ) == [2, 0]


def test_mixed_units_are_turned_into_the_beginnings_unit_by_the_pace() -> None:
    event = {"type": "latency", "latency": "2s", "at": "10s", "duration": "10 rounds"}
    assert late(scenario(events=(event,), pace="500ms"), [7] * 7, TIMES) == [0, 0, 0, 2, 2, 0, 0]
    event = {"type": "latency", "latency": "2s", "at": "5 rounds", "duration": "1s"}
    assert late(scenario(events=(event,), pace="500ms"), [4, 5, 6, 7], [0.0] * 4) == [0, 2, 2, 0]
    for at, duration in (("10s", "10 rounds"), ("5 rounds", "1s")):
        event = {"type": "drop", "at": at, "duration": duration}
        with pytest.raises(InputError, match=r"^events\.0\.duration is .*: set pace"):
            scenario_plan(scenario(events=(event,), pace="asap"))


def test_a_blackout_by_time_and_by_rounds() -> None:
    ages = [9.0, 10.0, 14.0, 15.0]
    by_time = {"type": "blackout", "at": "10s", "duration": "5s"}
    for pace in ("20ms", "asap"):
        assert late(scenario(events=(by_time,), pace=pace), [1] * 4, ages) == [0, 5, 1, 0]
    by_rounds = {"type": "blackout", "at": "11 rounds", "duration": "5 rounds"}
    assert late(scenario(events=(by_rounds,), pace="1s"), [1] * 4, ages) == [0, 5, 1, 0]
    with pytest.raises(
        InputError, match=r"^events\.0\.at is 11 rounds, and rounds have no fixed length: set"
    ):
        scenario_plan(scenario(events=(by_rounds,), pace="asap"))
    assert late(scenario({"type": "blackout"}, pace="asap"), [1], [0.0]) == [None]


def test_a_ramp_in_rounds_needs_the_pace_unless_it_begins_with_the_run() -> None:
    ramp = {"type": "ramp", "start": "0s", "stop": "2s", "step": "1s", "interval": "1s"}
    assert late(scenario({**ramp, "at": "1 rounds"}, pace="asap"), [1, 1, 1], [0.0, 1.0, 9.0]) == [0, 1, 2]
    assert late(scenario({**ramp, "at": "3 rounds"}, pace="2s"), [2, 3, 4], [0.0] * 3) == [0, 0, 2]
    with pytest.raises(
        InputError, match=r"^delays\.0\.duration is 9 rounds, and rounds have no fixed length"
    ):
        scenario_plan(scenario({**ramp, "duration": "9 rounds"}, pace="asap"))


def test_an_adversary_counts_time_or_rounds_of_a_known_length() -> None:
    for period in ("3s", 3):
        burst = {"type": "adversary", "strategy": "burst", "period": period}
        assert late(scenario(burst), [1, 2, 3, 4], [0.0, 0.5, 3.0, 3.5]) == [0, 2.5, 0, 2.5]
    starve = {"type": "adversary", "strategy": "starve", "period": 2}
    assert late(scenario(starve, pace="asap"), [1, 2, 3], [0.0] * 3) == [0, None, 0]
    assert late(scenario({"type": "adversary", "strategy": "until_end"}), [1], [0.0]) == [None]
    largest = {"type": "adversary", "strategy": "largest", "period": "4s", "share": 0.5}
    assert late(scenario(largest), [1, 2], [1.0, 1.0], ranks=[0.4, 0.5]) == [0, 3]
    with pytest.raises(
        InputError, match=r"^delays\.0\.period is 3 rounds, .* or give a time \(period: 10s\)"
    ):
        scenario_plan(scenario({"type": "adversary", "strategy": "burst", "period": 3}, pace="asap"))
    with pytest.raises(InputError, match=r"delays\.0\.period is missing: .* needs it \(period: 5s"):
        scenario({"type": "adversary", "strategy": "burst"})


def test_positions_draws_and_agents_are_those_of_the_plan_in_rounds() -> None:
    made = scenario(
        {"type": "latency", "latency": "1s", "jitter": "1s", "agents": {"draw": 2}},
        {"type": "latency", "latency": "3s", "jitter": "1s", "distribution": "exponential", "seed": 9},
        events=({"type": "latency", "latency": "5s", "jitter": "1s", "at": "10s"},),
    )
    salts = (1, 2 * 9, 5)  # by place, unless it has a seed of its own
    for agent in range(4):
        for s in (1, 2, 30):
            drawn = 0.0
            for entry in delay_plan(made).entries:
                if entry.concerns(agent) and (s > 10 or entry.name != "events-0"):
                    assert isinstance(entry.fault, Latency)
                    assert entry.salt in salts
                    numbers = Draws(made.seed, (agent,), entry.salt)
                    drawn += float(entry.fault.values(numbers, range(s, s + 1))[0])
            assert late(made, [s], [s - 1.0], agent) == pytest.approx([drawn], abs=1e-6)


def test_entries_have_names_agents_and_salts() -> None:
    made = scenario(
        {"type": "drop", "probability": 0.5, "agents": [2, 0, 2], "name": "lossy"},
        {"type": "latency", "latency": "1s", "seed": 9},
        {"type": "drop", "agents": []},
        events=({"type": "blackout", "at": "5s", "name": "outage"}, {"type": "drop", "at": "3 rounds"}),
    )
    entries = scenario_plan(made).entries
    assert [(entry.agent, entry.name, entry.salt) for entry in entries] == [
        (0, "lossy", 1),
        (2, "lossy", 1),
        (None, "delays-1", 18),
        (None, "outage", 7),
        (None, "events-1", 9),
    ]
    assert {(entry.fault.agents, entry.fault.name) for entry in entries} == {("all", None)}
    assert [entry.fault.acts_on for entry in entries] == ["new", "new", "new", "pending", "new"]


@pytest.mark.parametrize("name", names())
def test_every_ready_made_scenario_has_a_plan(name: str) -> None:
    made = load(name)
    plan = scenario_plan(made)
    assert (plan.version, plan.disabled) == (1, frozenset())
    assert (plan.rules.agents, plan.rules.rounds) == (made.network.agents, made.algorithm.rounds)


def test_a_dumped_scenario_makes_the_same_plan() -> None:
    made = scenario(
        {"type": "ramp", "start": "0s", "stop": "2s", "step": "100ms", "interval": "10s"},
        {"type": "adversary", "strategy": "burst", "period": "2s"},
        events=(
            {"type": "blackout", "at": "1m", "duration": "10s", "name": "outage"},
            {"type": "drop", "at": "7 rounds", "duration": "2 rounds"},
        ),
    )
    again, first = scenario_plan(validate(yaml.safe_load(dump(made)), source="again")), scenario_plan(made)
    assert (again.entries, vars(again.rules)) == (first.entries, vars(first.rules))
