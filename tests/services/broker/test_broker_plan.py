from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from edgefw.errors import InputError
from edgefw.problem.delay import Latency
from edgefw.scenario.load import dump, load, names, validate
from edgefw.scenario.plan import delay_plan
from edgefw.services.broker.hold import RoundsHold, WallHold
from edgefw.services.broker.plan import wall_plan
from edgefw.services.broker.service import make_hold

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

START = 50.0
TIMES = [0.0, 1.0, 9.9, 10.0, 14.9, 15.0, 99.0]


def scenario(*faults: dict[str, Any], events: tuple[dict[str, Any], ...] = (), pace: str = "1s") -> Scenario:
    document = {"network": {"agents": 4}, "pace": pace, "delays": list(faults), "events": list(events)}
    return validate(document, source="test")


def late(plan: Scenario, rounds: list[int], ages: list[float]) -> list[float | None]:
    """Return the delays, to the microsecond, of feedback of these rounds submitted at these times."""
    wall = wall_plan(plan)
    due = [wall.due(0, s, START + age, START) for s, age in zip(rounds, ages, strict=True)]
    return [
        None if each is None else round(each - START - age, 6) for each, age in zip(due, ages, strict=True)
    ]


def test_a_time_is_real_time_whatever_the_round() -> None:
    event = {"type": "latency", "latency": "2s", "at": "10s", "duration": "5s"}
    for pace in ("1s", "20ms", "asap"):
        assert late(scenario(events=(event,), pace=pace), [7] * 7, TIMES) == [0, 0, 0, 2, 2, 0, 0]


def test_a_round_is_that_round_whatever_the_time() -> None:
    event = {"type": "latency", "latency": "2s", "at": 5, "duration": 2}
    for pace in ("1s", "20ms", "asap"):
        assert late(scenario(events=(event,), pace=pace), [4, 5, 6, 7], [11.0] * 4) == [0, 2, 2, 0]
    lasting = {"type": "drop", "at": 3}
    assert late(scenario(events=(lasting,)), [1, 2, 3, 99], [0.0] * 4) == [0, 0, None, None]


def test_a_duration_alone_counts_from_the_start() -> None:
    assert late(scenario({"type": "latency", "latency": "2s", "duration": "10s"}), [9] * 7, TIMES) == [
        *[2, 2, 2],
        *[0, 0, 0, 0],
    ]
    assert late(scenario({"type": "latency", "latency": "2s", "duration": 3}), [3, 4], [50.0, 0.0]) == [2, 0]


def test_mixed_units_are_turned_into_the_beginnings_unit_by_the_pace() -> None:
    event = {"type": "latency", "latency": "2s", "at": "10s", "duration": 10}
    assert late(scenario(events=(event,), pace="500ms"), [7] * 7, TIMES) == [0, 0, 0, 2, 2, 0, 0]
    event = {"type": "latency", "latency": "2s", "at": 5, "duration": "1s"}
    assert late(scenario(events=(event,), pace="500ms"), [4, 5, 6, 7], [0.0] * 4) == [0, 2, 2, 0]
    for at, duration in (("10s", 10), (5, "1s")):
        event = {"type": "drop", "at": at, "duration": duration}
        with pytest.raises(InputError, match=r"set pace"):
            wall_plan(scenario(events=(event,), pace="asap"))


def test_a_blackout_by_time_and_by_rounds() -> None:
    ages = [9.0, 10.0, 14.0, 15.0]
    by_time = {"type": "blackout", "at": "10s", "duration": "5s"}
    for pace in ("20ms", "asap"):
        assert late(scenario(events=(by_time,), pace=pace), [1] * 4, ages) == [0, 5, 1, 0]
    by_rounds = {"type": "blackout", "at": 11, "duration": 5}
    assert late(scenario(events=(by_rounds,), pace="1s"), [1] * 4, ages) == [0, 5, 1, 0]
    with pytest.raises(
        InputError, match="a blackout that begins or ends with a round needs rounds of a known"
    ):
        wall_plan(scenario(events=(by_rounds,), pace="asap"))
    assert late(scenario({"type": "blackout"}, pace="asap"), [1], [0.0]) == [None]


def test_positions_draws_and_agents_are_those_of_the_plan_in_rounds() -> None:
    plan = scenario(
        {"type": "latency", "latency": "1s", "jitter": "1s", "agents": {"draw": 2}},
        {"type": "latency", "latency": "3s", "jitter": "1s", "distribution": "exponential", "seed": 9},
        events=({"type": "latency", "latency": "5s", "jitter": "1s", "at": "10s"},),
    )
    counted, wall = delay_plan(plan), wall_plan(plan)
    assert wall.spans == (None, None, (10.0, math.inf))
    assert [fault.agents for fault in wall.plan.faults] == [fault.agents for fault in counted.faults]
    for agent in range(4):
        for s in (1, 2, 30):
            drawn = 0.0
            for position, fault in enumerate(counted.faults[: 2 if s < 11 else 3]):
                assert isinstance(fault, Latency)
                if fault.concerns(agent):
                    drawn += float(fault.seconds(counted.stream(position, agent), range(s, s + 1))[0])
            due = wall.due(agent, s, START + s - 1, START)
            assert due == pytest.approx(START + s - 1 + drawn)


def test_every_ready_made_scenario_has_a_hold() -> None:
    for name in names():
        made = load(name)
        hold = make_hold(made)
        assert isinstance(hold, WallHold if made.clock == "wall" else RoundsHold)
        assert (len(hold.links), hold.rounds) == (made.network.agents, made.algorithm.rounds)


def test_a_dumped_scenario_makes_the_same_plan() -> None:
    plan = scenario(
        {"type": "ramp", "start": "0s", "stop": "2s", "step": "100ms", "interval": "10s"},
        events=(
            {"type": "blackout", "at": "1m", "duration": "10s"},
            {"type": "drop", "at": 7, "duration": 2},
        ),
    )
    text = dump(plan)
    assert wall_plan(validate(yaml.safe_load(text), source="again")) == wall_plan(plan)


def test_an_adversary_waits_for_the_admin_endpoint() -> None:
    with pytest.raises(InputError, match="an adversary counts in rounds"):
        make_hold(scenario({"type": "adversary", "strategy": "burst", "period": 3}))
