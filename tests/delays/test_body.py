"""Faults as the admin endpoint writes and reads them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from admin_stand_in import rules
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays.body import fault_body, read_fault
from edgefw.delays.entry import PlanEntry
from edgefw.errors import InputError
from edgefw.scenario.load import names, validate
from edgefw.scenario.plan import scenario_plan

TIMES = st.sampled_from(["0s", "1us", "750ms", "2.5s", "1.5m", "3h"])
SOME = st.sampled_from(["1us", "750ms", "2.5s", "1.5m"])
PART = st.floats(0, 1)
AMOUNTS = st.fixed_dictionaries(
    {"latency": TIMES},
    optional={
        "jitter": TIMES,
        "distribution": st.sampled_from(["uniform", "normal", "pareto"]),
        "correlation": PART,
        "seed": st.integers(0, 2**53),
    },
)
OWN = st.one_of(
    st.tuples(st.just("latency"), AMOUNTS),
    st.tuples(st.just("latency"), st.fixed_dictionaries({"trace": st.lists(TIMES, min_size=1, max_size=3)})),
    st.tuples(st.sampled_from(["blackout", "drop"]), st.just({})),
    st.tuples(
        st.just("ramp"),
        st.fixed_dictionaries({"start": TIMES, "stop": TIMES, "step": SOME, "interval": SOME}),
    ),
    st.tuples(
        st.just("adversary"),
        st.fixed_dictionaries({"strategy": st.sampled_from(["burst", "newest_first"]), "period": SOME}),
    ),
    st.tuples(
        st.just("adversary"),
        st.fixed_dictionaries({"strategy": st.just("largest"), "period": SOME}, optional={"share": PART}),
    ),
)
COMMON = st.fixed_dictionaries(
    {},
    optional={
        "probability": PART,
        "apply_to": st.sampled_from(["new", "pending"]),
        "at": TIMES,
        "duration": SOME,
    },
)


@given(OWN, COMMON)
@settings(deadline=None, max_examples=80)
def test_the_two_forms_mean_the_same_and_what_is_shown_is_read_back(
    own: tuple[str, dict[str, Any]], common: dict[str, Any]
) -> None:
    type_, attributes = own
    if attributes.get("share") == 0:
        attributes = {**attributes, "share": 0.5}
    nested = read_fault({"type": type_, "attributes": attributes, **common}, rules())
    assert read_fault({"type": type_, **attributes, **common}, rules()) == nested
    shown = fault_body(PlanEntry(None, "x", nested.fault, 0))
    assert read_fault(shown, rules()).fault == nested.fault
    assert shown["apply_to"] == nested.fault.acts_on


@pytest.mark.parametrize("name", names())
def test_every_fault_of_a_scenario_is_shown_so_that_it_is_read_back(name: str) -> None:
    from edgefw.scenario.load import load  # noqa: PLC0415

    plan = scenario_plan(load(name))
    for entry in plan.entries:
        read = read_fault(fault_body(entry), plan.rules).fault
        assert read == entry.fault.model_copy(update={"apply_to": entry.fault.acts_on})


def test_a_jitter_about_nothing_that_a_scenario_may_have_is_read_back() -> None:
    late = {"type": "latency", "jitter": "1s", "distribution": "exponential"}
    plan = scenario_plan(validate({"delays": [late]}, source="test"))
    shown = fault_body(plan.entries[0])
    assert shown["attributes"] == {"latency": "0s", "jitter": "1s", "distribution": "exponential"}
    assert read_fault(shown, plan.rules).name == "delays-0"


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"type": "latency", "attributes": {"jitter": "1s"}}, "attributes.jitter", "give both"),
        ({"type": "latency", "jitter": "1s"}, "jitter", "give both"),
        ({"type": "latency"}, "latency", "missing"),
        ({"type": "latency", "attributes": {}}, "attributes.latency", "or a trace"),
        ({"type": "latency", "attributes": {"latency": "-2s"}}, "attributes.latency", "negative"),
        ({"type": "latency", "attributes": {"latency": 5}}, "attributes.latency", "no unit"),
        ({"type": "latency", "latency": "1s", "jiter": "1s"}, "jiter", "did you mean 'jitter'"),
        ({"type": "latency", "attributes": {"latency": "1s", "x": 1}}, "attributes.x", "unknown field"),
        ({"type": "latency", "attributes": {}, "latency": "1s"}, "latency", "stands in attributes"),
        ({"type": "drop", "attributes": {"duration": "1s"}}, "attributes.duration", "beside"),
        ({"type": "latency", "attributes": []}, "attributes", "an object"),
        ({"type": "drop", "attributes": {f"x{i}": 1 for i in range(50)}}, "attributes", "an object"),
        ({f"x{i}": 1 for i in range(50)}, "", "no more than"),
        ({"type": "latency", "attributes": {"trace": ["1s", 3]}}, "attributes.trace.1", "no unit"),
        ({"type": "latency", "trace": ["1s"] * 20_001}, "trace", "at most 20000"),
        (
            {"type": "latency", "attributes": {"latency": "1s", "distribution": "trace"}},
            "attributes.trace",
            "needs its values",
        ),
        (
            {"type": "latency", "attributes": {"latency": "1s", "jitter": "1s", "distribution": "constant"}},
            "attributes.jitter",
            "has none",
        ),
        ({"type": "rounds", "rounds": 3}, "type", "use type latency"),
        ({"type": "latenc"}, "type", "did you mean 'latency'"),
        ({"type": 3}, "type", "must be one of"),
        ({"latency": "1s"}, "type", "missing"),
        ({"type": "drop", "duration": None}, "duration", "leave it out"),
        ({"type": "drop", "duration": "0s"}, "duration", "above 0"),
        ({"type": "drop", "duration": 10**12 + 1}, "duration", "10^12 at most"),
        ({"type": "drop", "probability": 2}, "probability", "at most 1"),
        ({"type": "drop", "probability": float("inf")}, "probability", "finite"),
        ({"type": "drop", "apply_to": "all"}, "apply_to", "valid: new, pending"),
        ({"type": "drop", "name": "a b"}, "name", "cannot name"),
        ({"type": "drop", "agents": [8]}, "agents", "agents are 0 to 7"),
        ({"type": "drop", "agents": []}, "agents", "one at least"),
        ({"type": "drop", "agents": {"draw": 2}}, "agents", "only a scenario draws"),
        (
            {"type": "adversary", "attributes": {"strategy": "burst"}},
            "attributes.period",
            "needs it (period",
        ),
        ({"type": "ramp", "start": "1s"}, "stop", "missing"),
        ([], "", "an object"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(body: Any, field: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_fault(body, rules())
    assert caught.value.field == field
    assert words in str(caught.value)
    assert str(caught.value).startswith(field)
    assert "delays.0" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"type": "latency", "latency": "1s"}, "type"),
        ({"type": "rounds", "rounds": 3, "duration": "10s"}, "duration"),
        ({"type": "rounds", "attributes": {"jitter": 3}}, "attributes.jitter"),
        ({"type": "rounds", "attributes": {"rounds": 0}}, "attributes.rounds"),
        ({"type": "ramp", "start": 0, "stop": 3, "step": 1, "interval": 1}, "start"),
    ],
)
def test_the_rounds_clock_has_its_own_rules(body: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        read_fault(body, rules("rounds"))
    assert caught.value.field == field


def test_rounds_are_no_time_where_they_have_no_length() -> None:
    fault = {"type": "drop", "duration": "5 rounds"}
    assert read_fault(fault, rules()).fault.duration == 5
    with pytest.raises(
        InputError, match=r"^duration is 5, which has no unit.* \(5s\) or rounds \(5 rounds\)"
    ):
        read_fault({**fault, "duration": 5}, rules())
    with pytest.raises(InputError, match="no fixed length") as caught:
        read_fault(fault, rules(round_seconds=None))
    assert caught.value.field == "duration"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    [
        "type",
        "attributes",
        "latency",
        "jitter",
        "trace",
        "agents",
        "name",
        "at",
        "duration",
        "apply_to",
        "period",
    ]
)


@given(
    st.dictionaries(FIELDS, JSON, max_size=5),
    st.sampled_from(["latency", "rounds", "ramp", "adversary", "drop", ""]),
    st.sampled_from(["wall", "rounds"]),
)
@settings(deadline=None, max_examples=200)
def test_whatever_is_sent_is_read_or_refused(body: dict[str, Any], type_: str, clock: str) -> None:
    if type_:
        body = {**body, "type": type_}
    with suppress(InputError):
        read_fault(body, rules(clock))
