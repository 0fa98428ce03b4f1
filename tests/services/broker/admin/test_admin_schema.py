"""The OpenAPI document against the endpoint: whatever is sent, the document tells of the answer.

EDGEFW_SCHEMA_EXAMPLES=200 tries more than usual, and other examples each time.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from admin_stand_in import StandIn, moment
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from edgefw.delays import edits
from edgefw.delays.body import read_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgefw.delays.entry import Moment
    from edgefw.delays.plan import Plan

EXAMPLES = int(os.environ.get("EDGEFW_SCHEMA_EXAMPLES", "0"))
CHECKS = {"negative_data_rejection": {"expected-statuses": [400, 404, 409, 413, 415]}}
# What a patch may say depends on the fault that it changes; that names of a plan differ, no schema can say.
MAY_BE_REFUSED = {
    "include-path-regex": "{name}|^/plan$",
    "checks": {"positive_data_acceptance": {"enabled": False}},
}
ON, OFF = {"enabled": True}, {"enabled": False}


class Forgetful(StandIn):
    """A control that goes back to its first plan after every change: no name is ever taken."""

    def __init__(self, clock: str) -> None:
        super().__init__(clock)
        fault = read_fault({"type": "drop"}, self.plan.rules).fault
        self._first = self.plan = edits.add(self.plan, moment(), None, fault, "0")

    async def apply(self, kind: str, edit: Callable[[Plan, Moment], Plan], who: str) -> Plan:
        plan = await super().apply(kind, edit, who)
        self.plan = self._first
        return plan


def mistakes(control: StandIn, phases: dict[str, Any], but: str = "^$") -> tuple[list[str], Counter[int]]:
    """Return what schemathesis finds wrong in calls `but` some, and how often it saw which status."""
    control.events.close()  # so that a stream of events ends
    generation = {"max-examples": EXAMPLES or 10, "deterministic": not EXAMPLES, "database": "none"}
    config = SchemathesisConfig.from_dict(
        {
            "checks": CHECKS,
            "generation": generation,
            "phases": phases,
            "operations": [MAY_BE_REFUSED, {"include-path-regex": but, "enabled": False}],
        }
    )
    app = control.app(None, frozenset({"testserver"}))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config)
    found: list[str] = []
    statuses: Counter[int] = Counter()
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            found += _failures(event.recorder)
            answers = [each.response for each in event.recorder.interactions.values()]
            statuses.update(answer.status_code for answer in answers if answer is not None)
        elif isinstance(event, events.NonFatalError):
            found.append(str(event.info))
        elif isinstance(event, events.FatalError):
            raise event.exception
    return found, statuses


def _failures(recorder: Any) -> Iterator[str]:
    for checks in recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure, how = check.failure_info.failure, check.failure_info.code_sample
                yield f"{recorder.label}: {failure.title}: {failure.message[:500]}: {how[:500]}"


COVERING = {"examples": OFF, "fuzzing": OFF, "stateful": OFF, "coverage": ON}
FUZZING = {"examples": ON, "fuzzing": ON, "stateful": OFF, "coverage": OFF}
STEPS = {"examples": OFF, "fuzzing": OFF, "stateful": ON, "coverage": OFF}


@pytest.mark.slow
@pytest.mark.thorough  # the calls below send what is drawn, this one every limit of every field
def test_every_corner_of_the_document() -> None:
    # Bodies on a link are those on all links: one of the two is enough.
    found, statuses = mistakes(Forgetful("wall"), COVERING, but="^/links/.*/faults|^/plan")
    assert found == []
    assert {200, 201, 400, 404, 405, 415} <= set(statuses)


@pytest.mark.slow
@pytest.mark.thorough  # its faults are those of the calls that add one
def test_every_corner_of_a_plan() -> None:
    found, statuses = mistakes(Forgetful("wall"), COVERING, but="^/(?!plan$)")
    assert found == []
    assert {200, 400, 409} <= set(statuses)


@pytest.mark.slow
@pytest.mark.thorough
def test_every_corner_of_a_fault_under_the_rounds_clock() -> None:
    found, statuses = mistakes(Forgetful("rounds"), COVERING, but="^/(?!faults$)")
    assert found == []
    assert statuses[201] > 10


@pytest.mark.parametrize("clock", ["wall", pytest.param("rounds", marks=pytest.mark.thorough)])
def test_calls_of_all_kinds(clock: str) -> None:
    found, statuses = mistakes(StandIn(clock), FUZZING)
    assert found == []
    assert {200, 201, 400, 404} <= set(statuses)


@pytest.mark.parametrize("clock", ["wall", pytest.param("rounds", marks=pytest.mark.thorough)])
def test_calls_that_follow_from_one_another(clock: str) -> None:
    # A reset or another plan takes away what was just made, and nobody can know.
    found, statuses = mistakes(StandIn(clock), STEPS, but="^/(reset|plan)$")
    assert found == []
    assert 201 in statuses  # something was made, and a later call found it there
    assert statuses.keys() & {200, 204}
