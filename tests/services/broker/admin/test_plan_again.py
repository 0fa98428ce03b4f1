"""Whatever plan GET shows, PUT takes: of every scenario, and as large as a plan may be."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from admin_stand_in import AGENTS, StandIn, ask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgefw.delays.drawn import LONGEST_TRACE
from edgefw.delays.plan import MOST_FAULTS, Plan
from edgefw.delays.units import LONGEST, MOST_ROUNDS, format_duration
from edgefw.errors import InputError
from edgefw.http.body import LARGEST_BODY
from edgefw.scenario.load import load, names, validate
from edgefw.scenario.plan import scenario_plan

CONTROLS = {clock: StandIn(clock) for clock in ("wall", "rounds")}
NAME = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,5}\Z")
AGENT = st.one_of(
    st.just("all"),
    st.lists(st.integers(0, AGENTS - 1), min_size=1),
    st.fixed_dictionaries({"draw": st.integers(1, AGENTS)}),
)
SECONDS = st.one_of(
    st.floats(0, 1e6, allow_subnormal=False).filter(lambda x: x == 0 or x > 1e-9), st.just(LONGEST * 1.0)
)
TIMES = SECONDS.map(format_duration)
SOME_TIMES = SECONDS.filter(bool).map(format_duration)
ROUNDS = st.one_of(st.integers(1, 100), st.just(MOST_ROUNDS))


def common(clock: str) -> dict[str, Any]:
    some = SOME_TIMES if clock == "wall" else ROUNDS
    return {
        "name": NAME,
        "agents": AGENT,
        "probability": st.floats(0, 1),
        "apply_to": st.sampled_from(["new", "pending"]),
        "at": TIMES if clock == "wall" else ROUNDS,
        "duration": some,
    }


def faults(clock: str) -> st.SearchStrategy[dict[str, Any]]:
    some, level = (SOME_TIMES, TIMES) if clock == "wall" else (ROUNDS, ROUNDS)
    base = "latency" if clock == "wall" else "rounds"
    drawn = {"correlation": st.floats(0, 1), "seed": st.integers(0, LONGEST)}
    kinds: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        (base, {base: level}, drawn | {"jitter": level}),
        (base, {"trace": st.lists(level, min_size=1, max_size=5)}, drawn),
        ("blackout", {}, {}),
        ("drop", {}, {}),
        ("ramp", {"start": level, "stop": level, "step": some, "interval": some}, {}),
        (
            "adversary",
            {"strategy": st.sampled_from(["burst", "newest_first", "largest"]), "period": some},
            {},
        ),
        ("adversary", {"strategy": st.just("until_end")}, {}),
    ]
    return st.one_of(
        *(
            st.fixed_dictionaries({"type": st.just(type_), **own}, optional=common(clock) | more)
            for type_, own, more in kinds
        )
    )


def given_plan(clock: str, some: list[dict[str, Any]]) -> Plan:
    document = {"network": {"agents": AGENTS}, "clock": clock, "delays": some}
    return scenario_plan(validate(document, source="test"))


def is_taken_again(control: StandIn, plan: Plan) -> None:
    """Check that the plan, as it is shown, changes nothing, and takes the place of another."""
    control.plan = plan
    shown = ask(control, "GET", "/plan")
    assert len(shown.content) <= LARGEST_BODY
    answer = ask(control, "PUT", "/plan", content=shown.content)
    assert answer.status_code == 200, answer.text
    assert control.plan is plan
    control.plan = dataclasses.replace(plan, entries=())
    assert ask(control, "PUT", "/plan", content=shown.content).json()["faults"] == shown.json()["faults"]


@pytest.mark.parametrize("clock", ["wall", "rounds"])
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_plan_of_any_scenario_can_be_sent_back(clock: str, data: st.DataObject) -> None:
    some = data.draw(
        st.lists(faults(clock), max_size=4, unique_by=lambda fault: fault.get("name", id(fault)))
    )
    is_taken_again(CONTROLS[clock], given_plan(clock, some))


@pytest.mark.parametrize("name", names())
def test_the_plans_of_ready_made_scenarios_can_be_sent_back(name: str) -> None:
    plan = scenario_plan(load(name))
    control = StandIn(plan.rules.clock)
    control.plan = plan
    is_taken_again(control, plan)


def test_the_largest_plan_can_be_sent_back() -> None:
    long = {"type": "latency", "trace": [format_duration((i + 1) / 3e9) for i in range(LONGEST_TRACE)]}
    rest = [
        {
            "type": "latency",
            "name": f"{i:064}",
            "agents": [AGENTS - 1],
            "latency": format_duration(1e5 / 3),
            "jitter": format_duration(1e5 / 7),
            "distribution": "exponential",
            "correlation": 1 / 3,
            "seed": LONGEST,
            "probability": 1 / 3,
            "apply_to": "pending",
            "at": format_duration(1e5 / 3),
            "duration": format_duration(1e5 / 7),
        }
        for i in range(MOST_FAULTS - AGENTS)
    ]
    plan = given_plan("wall", [{**long, "agents": list(range(AGENTS))}, *rest])
    assert len(plan.entries) == MOST_FAULTS
    control = StandIn("wall")
    control.plan = plan
    is_taken_again(control, plan)


def test_a_scenario_is_held_to_the_same_limits() -> None:
    with pytest.raises(InputError, match=r"delays.0.trace: 20,001 values are too many"):
        given_plan("wall", [{"type": "latency", "trace": ["1s"] * (LONGEST_TRACE + 1)}])
    half = {"type": "latency", "trace": ["1s"] * (LONGEST_TRACE // 2 + 1)}
    with pytest.raises(InputError, match=r"20,002 values are too many: all traces together may have 20,000"):
        given_plan("wall", [half, half])
    with pytest.raises(InputError, match=r"1008 faults, counted by agent: at most 1000"):
        given_plan("wall", [{"type": "drop", "agents": list(range(AGENTS))}] * 126)


def test_faults_that_add_up_to_too_much_are_refused_when_they_are_posted() -> None:
    plan = given_plan("wall", [{"type": "latency", "trace": ["1s"] * LONGEST_TRACE, "agents": [0, 1]}])
    first, second = plan.entries
    other = dataclasses.replace(second, name="other")
    with pytest.raises(InputError, match=r"40,000 values are too many"):
        dataclasses.replace(plan, entries=(first, other)).check()
