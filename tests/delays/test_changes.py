"""What a change of the plan changed, in words of which there are few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from edgefw.delays import edits
from edgefw.delays.body import read_fault
from edgefw.delays.changes import difference
from edgefw.delays.entry import Moment
from edgefw.scenario.load import load
from edgefw.scenario.plan import scenario_plan

if TYPE_CHECKING:
    from edgefw.delays.plan import Plan

NOW = Moment(0.0, (0,) * 8)
LATE: dict[str, Any] = {"type": "latency", "latency": "1s"}


@pytest.fixture
def plan() -> Plan:
    """The plan of eight agents of which none is late."""
    return scenario_plan(load("playground"))


def add(plan: Plan, agent: int | None, body: dict[str, Any] = LATE) -> Plan:
    fault = read_fault(body, plan.rules).fault
    return edits.add(plan, NOW, agent, fault, None)


def test_a_fault_comes_changes_and_goes(plan: Plan) -> None:
    late = add(plan, 3)
    later = edits.change(late, NOW, 3, "latency", {"attributes": {"latency": "2s"}})
    assert difference("add", plan, late) == ("add", "latency", "3")
    assert difference("change", late, later) == ("change", "latency", "3")
    assert difference("remove", later, edits.remove(later, 3, "latency")) == ("remove", "latency", "3")


def test_a_fault_on_all_links_is_on_all(plan: Plan) -> None:
    assert difference("add", plan, add(plan, None)) == ("add", "latency", "all")


def test_a_link_is_disabled_and_enabled(plan: Plan) -> None:
    held = edits.enable(plan, 5, enabled=False)
    assert difference("enable", plan, held) == ("disable", "link", "5")
    assert difference("enable", held, plan) == ("enable", "link", "5")


def test_what_is_much_is_called_several(plan: Plan) -> None:
    both = add(add(plan, 1), 2, {"type": "drop"})
    assert difference("reset", both, edits.reset(both)) == ("reset", "several", "several")
    alike = add(add(plan, 1), 2)
    assert difference("reset", alike, edits.reset(alike)) == ("reset", "latency", "several")
