"""What happened is told in words, with its round and its time: from the account alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgefw.core.account import Entry, Kind
from edgefw.page.happenings import MOST_TOLD, Happening, Happenings
from edgefw.scenario.model import Scenario

NS = 10**9
SLOW = {"type": "latency", "agents": "all", "probability": 1.0, "latency": "750ms"}


def happenings(clock: str = "wall", n: int = 3, **more: Any) -> Happenings:
    document = {"clock": clock, "network": {"agents": n}, "algorithm": {"horizon": 500}, **more}
    return Happenings(Scenario.model_validate(document))


def plan(at: float, version: int, *entries: dict[str, Any], disabled: tuple[int, ...] = ()) -> Entry:
    """Return a version of the plan; entries have an agent, a fault and perhaps a name."""
    own = {"agent": None, "salt": 1, "since": round(at * NS), "since_rounds": None}
    written = [own | {"name": f"f{i}"} | entry for i, entry in enumerate(entries)]
    text = json.dumps({"version": version, "disabled": list(disabled), "entries": written})
    return Entry(round(at * NS), Kind.PLAN, version=version, plan=text)


def accepted(at: float, agent: int, t: int) -> Entry:
    return Entry(round(at * NS), Kind.ACCEPTED, agent, t, 1)


def told(found: Happenings, *entries: Entry) -> list[Happening]:
    for entry in entries:
        found.take(entry)
    return list(found.events)


def test_a_change_of_the_plan_is_told_with_its_round_and_time() -> None:
    found = happenings()
    start = [Entry(NS, Kind.BEGUN), plan(1.5, 1), accepted(2, 0, 1), accepted(2.5, 1, 1), accepted(3, 0, 2)]
    slow, late = {"agent": 1, "fault": SLOW}, {"fault": SLOW, "name": "late"}
    events = told(found, *start, plan(3.25, 2, slow), plan(4, 3, slow, late), plan(5, 4, late, disabled=(2,)))
    assert events == [
        Happening(2, 1.25, "plan", "agent 1: latency 750ms is set", (1,)),
        Happening(2, 2.0, "plan", "all agents: latency 750ms is set", None),
        Happening(2, 3.0, "plan", "agent 1: latency 750ms is removed", (1,)),
        Happening(2, 3.0, "plan", "agent 2: cut off: all feedback is held", (2,)),
    ]
    assert [(force.round, force.version) for force in found.forces] == [(0, 1), (2, 2), (2, 3), (2, 4)]
    assert found.forces[-1].faults == ((None, "latency 750ms"),)
    assert found.forces[-1].disabled == (2,)


def test_a_fault_whose_time_is_up_is_over_not_removed() -> None:
    brief = {"agent": 0, "fault": SLOW | {"duration": "2s"}}
    events = told(happenings(), accepted(1, 0, 1), plan(2, 2, brief), plan(4.1, 3))
    assert [event.text for event in events] == [
        "agent 0: latency 750ms duration=2s is set",
        "agent 0: latency 750ms duration=2s is over",
    ]


@pytest.mark.parametrize(("clock", "at"), [("rounds", 3), ("wall", "2s")])
def test_a_planned_fault_begins(clock: str, at: Any) -> None:
    found = happenings(clock, events=[{"type": "blackout", "at": at, "agents": [0, 2]}])
    entries = [accepted(10 + t, i, t) for t in range(1, 6) for i in range(3)]
    events = told(found, *sorted({entry.moment: entry for entry in entries}.values()))
    assert [(event.round, event.text) for event in events] == [(3, f"agents 0, 2: blackout at={at} begins")]


def test_a_run_without_an_account_is_told_by_its_plan() -> None:
    found = happenings("rounds", events=[{"type": "blackout", "at": 100, "duration": 50}])
    found.foretell(120)
    assert [(event.round, event.seconds) for event in found.events] == [(100, None)]
    found = happenings("rounds", events=[{"type": "blackout", "at": 100, "duration": 50}])
    found.foretell(400)
    assert [event.round for event in found.events] == [100, 150]


def test_a_network_that_stood_still_waited_for_somebody() -> None:
    found = happenings()
    events = told(
        found, *(accepted(1 + i / 10, i, 1) for i in range(3)), accepted(1.5, 0, 2), accepted(8, 1, 2)
    )
    assert [(event.kind, event.agents) for event in events] == [("network", (1, 2))]
    assert events[0].text == "the network stood still for 6.5 s, for agents 1, 2"


def test_slow_rounds_are_no_stand_still() -> None:
    assert told(happenings(n=1), *(accepted(4.0 * t, 0, t) for t in range(2, 9)))[1:] == []


def test_a_broker_that_came_back_and_a_hole_are_told() -> None:
    events = told(happenings(), Entry(1, Kind.BEGUN), Entry(2, Kind.BEGUN), Entry(3, Kind.LOST))
    assert [event.kind for event in events] == ["network", "network"]
    assert "started again" in events[0].text
    assert "hole" in events[1].text


def test_what_is_told_is_bounded() -> None:
    found = happenings()
    for number in range(1, MOST_TOLD + 100):
        found.take(Entry(number, Kind.BEGUN))
    assert len(found.events) == MOST_TOLD
    assert found.count == MOST_TOLD + 98
