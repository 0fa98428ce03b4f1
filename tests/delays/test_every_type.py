"""What every fault type has to pass, by its own examples, under each of its clocks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from admin_stand_in import rules

from edgefw.checks.fault import CHECKS, Case, cases, it_is_described
from edgefw.delays.body import COMMON, fault_body, read_fault
from edgefw.delays.entry import PlanEntry
from edgefw.delays.registry import TYPES
from edgefw.scenario.model import Scenario
from edgefw.services.broker.admin.schemas import components

if TYPE_CHECKING:
    from collections.abc import Callable

jsonschema: Any = pytest.importorskip("jsonschema")

CASES = [
    pytest.param(case, id=f"{case.clock}-{number}-{name}")
    for name in TYPES
    for number, case in enumerate(cases(name))
]
every_case = pytest.mark.parametrize("case", CASES)


@cache
def of_a_scenario() -> Any:
    return jsonschema.Draft202012Validator(Scenario.model_json_schema())


@cache
def of_the_endpoint(clock: str) -> Any:
    return jsonschema.Draft202012Validator({"$defs": {}, **components(rules(clock))["Fault"]})


@pytest.mark.parametrize("name", TYPES)
def test_it_has_an_example_for_each_of_its_clocks_and_words_for_each_field(name: str) -> None:
    it_is_described(name)
    assert all(example["type"] == name for example in TYPES[name].examples)
    assert TYPES[name].__module__ == f"edgefw.delays.{name}"


@every_case
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_passes_what_is_asked_of_every_type(case: Case, check: Callable[[Case], None]) -> None:
    check(case)


@every_case
def test_the_schema_of_a_scenario_has_it(case: Case) -> None:
    clock, example = case
    schema = of_a_scenario()
    schema.validate({"clock": clock, "delays": [example]})
    assert not schema.is_valid({"delays": [{**example, "type": "none"}]})
    assert not schema.is_valid({"delays": [{name: example[name] for name in example if name != "type"}]})


@every_case
def test_the_schema_of_the_endpoint_has_it_nested_flat_and_as_it_is_shown(case: Case) -> None:
    flat = case.posted
    own = {name: value for name, value in flat.items() if name not in COMMON}
    nested = {name: value for name, value in flat.items() if name in COMMON} | {"attributes": own}
    shown = fault_body(PlanEntry(3, "it", read_fault(flat, rules(case.clock)).fault, 1))
    for body in (flat, nested, shown):
        of_the_endpoint(case.clock).validate(body)
