"""What every fault type has to pass, by its own examples, under each of its clocks."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import yaml
from admin_stand_in import rules

from edgefw.delays.body import COMMON, fault_body, read_fault
from edgefw.delays.dues import Batch, round_dues, steady_due, wall_dues
from edgefw.delays.entry import Entry, same_fault
from edgefw.delays.manual import clocks_of
from edgefw.delays.plan import Plan, plan_from_json, plan_to_json
from edgefw.delays.registry import TYPES
from edgefw.delays.units import NEVER
from edgefw.scenario.load import dump, validate
from edgefw.scenario.model import Scenario
from edgefw.scenario.plan import delay_plan, scenario_plan
from edgefw.services.broker.admin.schemas import components

jsonschema: Any = pytest.importorskip("jsonschema")

T, N, START = 40, 4, 1000.0
CASES = [
    pytest.param(clock, example, id=f"{clock}-{number}-{name}")
    for name, type_ in TYPES.items()
    for number, example in enumerate(type_.examples)
    for clock in clocks_of(type_, example)
]
every_case = pytest.mark.parametrize(("clock", "example"), CASES)


def scenario(clock: str, *faults: dict[str, Any]) -> Scenario:
    document = {"clock": clock, "network": {"agents": N}, "algorithm": {"horizon": T}, "delays": list(faults)}
    return validate(document, source="test")


def posted(example: dict[str, Any]) -> dict[str, Any]:
    """Return an example as it is posted to the link of an agent."""
    return {name: value for name, value in example.items() if name != "agents"}


@pytest.mark.parametrize("name", TYPES)
def test_it_has_an_example_for_each_of_its_clocks_and_words_for_each_field(name: str) -> None:
    type_ = TYPES[name]
    assert {clock for example in type_.examples for clock in clocks_of(type_, example)} == set(type_.clocks)
    assert all(example["type"] == name for example in type_.examples)
    assert all(field.description for field in type_.own_fields().values())
    assert type_.__module__ == f"edgefw.delays.{name}"


@every_case
def test_a_scenario_has_it_as_it_is_written(clock: str, example: dict[str, Any]) -> None:
    made = scenario(clock, example)
    assert validate(yaml.safe_load(dump(made)), source="again").delays == made.delays
    schema = Scenario.model_json_schema()
    jsonschema.validate({"clock": clock, "delays": [example]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"delays": [{**example, "type": "none"}]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"delays": [{name: example[name] for name in example if name != "type"}]}, schema)


@every_case
def test_the_endpoint_has_it_nested_or_flat_and_shows_what_it_takes(
    clock: str, example: dict[str, Any]
) -> None:
    flat = posted(example)
    own = {name: value for name, value in flat.items() if name not in COMMON}
    nested = {name: value for name, value in flat.items() if name in COMMON} | {"attributes": own}
    read = read_fault(flat, rules(clock))
    assert read_fault(nested, rules(clock)) == read
    entry = Entry(3, "it", read.fault, 1)
    assert same_fault(entry, read_fault(fault_body(entry), rules(clock)).fault)
    for body in (flat, nested, fault_body(entry)):
        jsonschema.validate(body, {"$defs": {}, **components(rules(clock))["Fault"]})


@every_case
def test_a_journal_has_it_again(clock: str, example: dict[str, Any]) -> None:
    given = rules(clock)
    plan = Plan(given, 7, (Entry(3, "it", read_fault(posted(example), given).fault, 5),))
    text = plan_to_json(plan, round)
    assert plan_from_json(text, given, float) == plan
    assert json.loads(text)["entries"][0]["fault"]["type"] == example["type"]


@every_case
def test_any_rounds_in_any_order_are_treated_as_each_alone(clock: str, example: dict[str, Any]) -> None:
    plan = scenario_plan(scenario(clock, {**example, "agents": "all"}))
    shuffled = np.random.default_rng(1).permutation(np.arange(1, T + 1))
    own, later = plan.own(0, START), plan.later(0, START)

    def dues(rounds: Any) -> list[tuple[float, bool]]:
        batch = Batch(rounds, START + rounds * 0.1, np.zeros(len(rounds)))
        if clock == "rounds":
            found = round_dues(own, later, batch, plan.rules)
        else:
            found = wall_dues(own, later, batch, plan.rules, now=START, start=START, ended=False)
            assert (found.due >= batch.accepted).all()
        return list(zip(found.due.tolist(), found.dropped.tolist(), strict=True))

    assert dues(shuffled) == [dues(np.array([s]))[0] for s in shuffled]


@every_case
def test_the_short_way_for_what_is_steady_gives_the_same(clock: str, example: dict[str, Any]) -> None:
    plan = scenario_plan(scenario(clock, {**example, "agents": "all"}))
    own, later, steady = plan.own(0, START), plan.later(0, START), TYPES[example["type"]].steady
    for s in range(1, T + 1) if clock == "wall" else ():
        one = Batch(np.array([s]), np.array([START + s]), np.zeros(1))
        found = wall_dues(own, later, one, plan.rules, now=START + s, start=START, ended=False).due[0]
        assert steady_due(own, later, s, START + s) == (found if steady else None)


@every_case
def test_the_simulator_counts_what_the_broker_holds(clock: str, example: dict[str, Any]) -> None:
    made = scenario(clock, example)
    table, plan, rounds = delay_plan(made).table(), scenario_plan(made), np.arange(1, T + 1)
    assert table.shape == (N, T)
    assert ((table >= 1) & (table <= NEVER)).all()
    for agent in range(N if clock == "rounds" else 0):
        batch = Batch(rounds, np.zeros(T), np.zeros(T))
        found = round_dues(plan.own(agent, None), plan.later(agent, None), batch, plan.rules)
        expected = np.where(table[agent] == NEVER, math.inf, table[agent] + rounds - 1)
        assert found.due.tolist() == expected.tolist()
    longest = plan.longest() if clock == "rounds" else None
    assert longest is None or np.minimum(table[table < NEVER], T).max(initial=1) <= longest


@every_case
def test_what_it_declares_is_a_number_of_rounds(clock: str, example: dict[str, Any]) -> None:
    plan = delay_plan(scenario(clock, example))
    assert all(plan.declared(agent) >= 1 for agent in range(N))
