"""From what a scenario says about delays to the table of delays in rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays.units import NEVER
from edgefw.errors import InputError
from edgefw.scenario.load import validate
from edgefw.scenario.plan import delay_plan, never_met, not_simulated, place, timed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.scenario.model import Scenario


def make(*delays: dict[str, Any], clock: str = "rounds", agents: int = 1, **fields: Any) -> Scenario:
    document = {"clock": clock, "network": {"agents": agents}, "delays": list(delays), "seed": 3, **fields}
    return validate(document, source="test")


def table(scenario: Scenario, rounds: int = 12) -> NDArray[np.int64]:
    algorithm = scenario.algorithm.model_copy(update={"horizon": rounds})
    return delay_plan(scenario.model_copy(update={"algorithm": algorithm})).table()


def delays(*faults: dict[str, Any], rounds: int = 12, **fields: Any) -> list[int]:
    """Return the delays of agent 0; 0 stands for never."""
    row = table(make(*faults, **fields), rounds)[0]
    return [0 if delay == NEVER else int(delay) for delay in row]


@given(st.integers(0, 10_000), st.integers(1, 3000))
@settings(deadline=None)
def test_a_latency_takes_the_whole_rounds_that_fit_in_it(latency: int, pace: int) -> None:
    fault = {"type": "latency", "latency": f"{latency}ms"}
    assert delays(fault, rounds=2, clock="wall", pace=f"{pace}ms") == [1 + latency // pace] * 2


def test_name_and_agents_are_the_entrys_and_its_fault_has_none() -> None:
    plan = delay_plan(make({"type": "drop", "agents": [2, 0], "name": "thief"}, {"type": "drop"}, agents=3))
    assert [entry.key for entry in plan.entries] == [(0, "thief"), (2, "thief"), (None, "delays-1")]
    assert {(entry.fault.agents, entry.fault.name) for entry in plan.entries} == {("all", None)}


def test_a_delay_in_rounds_is_itself() -> None:
    assert delays({"type": "rounds", "rounds": 1}, rounds=3) == [1, 1, 1]
    assert delays({"type": "rounds", "rounds": 7}, rounds=3) == [7, 7, 7]


def test_delays_on_one_link_add_up() -> None:
    assert delays({"type": "rounds", "rounds": 3}, {"type": "rounds", "rounds": 4}, rounds=2) == [6, 6]
    latencies = [{"type": "latency", "latency": "150ms"}] * 2  # neither is a round, both together are one
    assert delays(*latencies, rounds=2, clock="wall", pace="250ms") == [2, 2]


def test_uniform_delays_are_all_whole_numbers_of_their_range_and_no_others() -> None:
    drawn = delays({"type": "rounds", "rounds": 12, "jitter": 9}, rounds=600)
    assert set(drawn) == set(range(3, 22))


def test_a_trace_is_played_over_and_over() -> None:
    assert delays({"type": "rounds", "trace": [1, 5, 2]}, rounds=7) == [1, 5, 2, 1, 5, 2, 1]


@pytest.mark.parametrize(
    ("window", "late"),
    [
        ({"at": 4, "duration": 3}, {4, 5, 6}),
        ({"at": 10}, {10, 11, 12}),
        ({"at": 0, "duration": 1}, {1}),
        ({"duration": 2}, {1, 2}),
        ({}, set(range(1, 13))),
    ],
)
def test_a_window_in_rounds_names_its_rounds(window: dict[str, Any], late: set[int]) -> None:
    found = delays({"type": "rounds", "rounds": 9, **window})
    assert {t for t, delay in enumerate(found, start=1) if delay == 9} == late


@pytest.mark.parametrize(
    ("window", "late"),
    [
        ({"at": "0s", "duration": "250ms"}, {1}),
        ({"at": "250ms", "duration": "250ms"}, {2}),  # round t begins at (t - 1) pace
        ({"at": "1s", "duration": "500ms"}, {5, 6}),
        ({"at": "1.1s", "duration": "500ms"}, {5, 6}),  # ... and is under way until round t + 1
        ({"at": "1s", "duration": "1ms"}, {5}),  # a fault that is too short to last a round lasts one
        ({"at": "2.5s"}, {11, 12}),
        ({"duration": "750ms"}, {1, 2, 3}),
        ({"at": "5 rounds", "duration": "500ms"}, {5, 6}),  # by the wall clock a window may be either
        ({"at": "1s", "duration": "2 rounds"}, {5, 6}),
        ({"at": "300ms", "duration": "300ms"}, {2}),
    ],
)
def test_a_window_in_time_is_the_rounds_that_the_pace_makes_of_it(
    window: dict[str, Any], late: set[int]
) -> None:
    found = delays({"type": "drop", **window}, clock="wall", pace="250ms")
    assert {t for t, delay in enumerate(found, start=1) if delay == 0} == late


def test_times_that_are_whole_rounds_but_for_rounding_are_whole_rounds() -> None:
    found = delays({"type": "drop", "at": "300ms", "duration": "300ms"}, clock="wall", pace="100ms")
    assert [t for t, delay in enumerate(found, start=1) if delay == 0] == [4, 5, 6]


def test_a_blackout_releases_what_it_held_when_it_ends() -> None:
    held = {"type": "blackout", "at": 3, "duration": 4}
    assert delays(rounds=8, events=[held]) == [1, 1, 5, 4, 3, 2, 1, 1]
    assert delays({"type": "rounds", "rounds": 3}, rounds=6, events=[held]) == [7, 6, 5, 4, 3, 3]
    assert delays({"type": "blackout"}, rounds=2) == [0, 0]


def test_a_ramp_climbs_from_its_window_on() -> None:
    rounds = {"type": "ramp", "start": 1, "stop": 5, "step": 2, "interval": 3}
    assert delays(rounds, rounds=10) == [1, 1, 1, 3, 3, 3, 5, 5, 5, 5]
    assert delays({**rounds, "at": 4}, rounds=10) == [1, 1, 1, 1, 1, 1, 3, 3, 3, 5]
    seconds = {"type": "ramp", "start": 0, "stop": "2s", "step": "1s", "interval": "1.5s"}
    assert delays(seconds, rounds=8, clock="wall", pace="500ms") == [1, 1, 1, 3, 3, 3, 5, 5]


def test_an_adversary_holds_feedback_to_the_end() -> None:
    assert delays({"type": "adversary", "strategy": "until_end"}, rounds=4) == [4, 3, 2, 1]


def test_an_adversarys_period_is_turned_into_rounds_by_the_pace() -> None:
    burst = {"type": "adversary", "strategy": "burst", "period": "1s"}
    assert delays(burst, rounds=5, clock="wall", pace="400ms") == [2, 1, 2, 1, 2]
    assert delays({**burst, "period": "1ms"}, rounds=3, clock="wall", pace="400ms") == [1, 1, 1]
    assert delays({**burst, "period": 2}, rounds=5, clock="wall", pace="asap") == [2, 1, 2, 1, 2]
    assert timed(make(burst, clock="wall", pace="asap")) == ["delays.0"]


def test_what_applies_to_pending_feedback_does_so_in_the_simulator() -> None:
    held = {"type": "rounds", "rounds": 9, "at": 3, "duration": 3}
    assert delays({**held, "apply_to": "pending"}, rounds=6) == [1, 1, 4, 3, 2, 1]
    assert delays({**held, "apply_to": "new"}, rounds=6) == delays(held, rounds=6) == [1, 1, 9, 9, 9, 1]
    blackout = {"type": "blackout", "at": 3, "duration": 4}
    assert delays({**blackout, "apply_to": "new"}, rounds=8) == delays(blackout, rounds=8)


def test_a_probability_lets_its_share_through() -> None:
    found = delays({"type": "drop", "probability": 0.25}, rounds=2000)
    assert 400 < found.count(0) < 600


def late_agents(**fields: Any) -> list[int]:
    fault = {"type": "rounds", "rounds": 5, **fields.pop("fault", {})}
    found = table(make(*fields.pop("before", ()), fault, agents=30, **fields), 1)[:, 0]
    return [i for i, delay in enumerate(found) if delay == 5]


def test_agents_are_all_or_those_that_are_listed() -> None:
    assert late_agents() == list(range(30))
    assert late_agents(fault={"agents": [2, 29]}) == [2, 29]
    assert late_agents(fault={"agents": []}) == []


def test_agents_drawn_without_replacement_are_as_many_as_asked_for() -> None:
    for seed in range(20):
        assert len(late_agents(fault={"agents": {"draw": 20}}, seed=seed)) == 20


def test_agents_drawn_with_replacement_are_fewer() -> None:
    with_replacement = {"agents": {"draw": 20, "replacement": True}}
    counts = [len(late_agents(fault=with_replacement, seed=seed)) for seed in range(60)]
    assert max(counts) <= 20
    assert abs(np.mean(counts) - 30 * (1 - (29 / 30) ** 20)) < 1  # 14.8 of them are distinct
    more = {"agents": {"draw": 99, "replacement": True}}
    assert len(late_agents(fault=more)) > 20


def test_a_draw_is_a_function_of_the_seed_and_of_its_place() -> None:
    drawn = {"agents": {"draw": 10}}
    assert late_agents(fault=drawn) == late_agents(fault=drawn)
    assert late_agents(fault=drawn) != late_agents(fault=drawn, seed=4)
    nothing = {"type": "drop", "agents": []}
    assert late_agents(fault=drawn) != late_agents(fault=drawn, before=[nothing])


def test_a_seed_of_its_own_makes_draws_independent_of_the_place_but_not_of_the_agent() -> None:
    noise, nothing = {"type": "rounds", "rounds": 50, "jitter": 49}, {"type": "drop", "agents": []}
    own, other = {**noise, "seed": 8}, {**noise, "seed": 9}
    assert delays(own) == delays(nothing, own)
    assert delays(noise) != delays(nothing, noise)
    assert delays(own) != delays(other)
    assert delays(own) != delays(own, seed=4)
    both = table(make(own, agents=2))
    assert both[0].tolist() != both[1].tolist()


def test_places_are_those_of_the_file() -> None:
    drop = {"type": "drop"}
    scenario = make(drop, drop, events=[{**drop, "at": 1}, {**drop, "at": 2}])
    assert [place(scenario, i) for i in range(4)] == ["delays.0", "delays.1", "events.0", "events.1"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"type": "rounds", "distribution": "trace"}, "trace is missing: distribution 'trace' needs its"),
        ({"type": "rounds", "distribution": "constant", "jitter": 2}, "jitter is 2, and distribution"),
        ({"type": "rounds", "distribution": "uniform", "trace": [2]}, "distribution is 'uniform', and there"),
        ({"type": "adversary", "strategy": "burst"}, "period is missing: strategy 'burst' needs it"),
        (
            {"type": "adversary", "strategy": "burst", "period": 2, "share": 0.5},
            "share is 0.5, and strategy 'burst' has none: leave it out",
        ),
        ({"type": "ramp", "start": 0, "stop": 2, "step": 1, "interval": 1}, "start is 0: a delay in rounds"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_its_place(fault: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        make({"type": "drop"}, fault)
    assert str(caught.value).startswith(f"test: delays.1.{words}")


def test_an_amount_of_rounds_has_its_limit() -> None:
    most = 10**12
    for own in ({"rounds": most + 1}, {"rounds": 1, "jitter": most + 1}, {"trace": [1, most + 1]}):
        with pytest.raises(InputError, match=rf"delays.0.*{most + 1}: it must be at most {most}"):
            make({"type": "rounds", **own})


def test_only_times_need_a_pace() -> None:
    latency, drop = (
        {"type": "latency", "latency": "1s"},
        {"type": "drop", "at": "5 rounds", "duration": "2 rounds"},
    )
    timely = make(drop, latency, {**drop, "at": "2s"}, clock="wall", pace="asap")
    assert timed(timely) == ["delays.1", "delays.2"]
    assert timed(make(drop, clock="wall", pace="asap")) == []
    assert delays(drop, rounds=7, clock="wall", pace="asap") == [1, 1, 1, 1, 0, 0, 1]
    with pytest.raises(InputError, match=r"^delays-1 counts in time, .* set pace=250ms, say, or"):
        delay_plan(timely).table()


LATER: dict[str, Any] = {"type": "latency", "latency": "1s"}


@pytest.mark.parametrize(("first", "beyond"), [("12 rounds", "13 rounds"), ("2750ms", "3s")])
def test_what_begins_after_the_last_round_is_said(first: str, beyond: str) -> None:
    found = make({**LATER, "at": first}, {**LATER, "at": beyond}, clock="wall", algorithm={"horizon": 12})
    assert never_met(found) == ["delays.1 does nothing: it begins in round 13, and the run has 12"]


def test_nothing_is_said_of_what_begins_nobody_knows_when() -> None:
    found = make({**LATER, "at": "3s"}, LATER, clock="wall", pace="asap", algorithm={"horizon": 12})
    assert never_met(found) == []


def test_slow_devices_are_not_simulated_where_that_matters_and_it_is_said() -> None:
    slow: dict[str, Any] = {"devices": {"others": [{"agents": [0], "compute": "20ms"}]}}
    assert not_simulated(make(clock="wall", **slow)) == [
        "devices are not simulated: `edgefw up --virtual` shows what slow ones do"
    ]
    assert not_simulated(make(clock="rounds", **slow)) == not_simulated(make(clock="wall")) == []
