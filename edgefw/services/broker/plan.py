"""From a scenario to the plans that a broker draws delays from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgefw.errors import InputError
from edgefw.problem.delay.wall import Span, WallPlan
from edgefw.scenario.plan import delay_plan, round_seconds

if TYPE_CHECKING:
    from edgefw.scenario.faults import AnyFault
    from edgefw.scenario.model import Scenario


def wall_plan(scenario: Scenario) -> WallPlan:
    """Return the scenario's delay plan by the wall clock.

    A fault whose window is written as a time (`at: 60s`) is in force for that span of real time; one that is
    written as a round (`at: 200`) is in force for the feedback of those rounds. Where the two are mixed, the
    beginning decides and the pace turns the duration into its unit.
    """
    spans = tuple(_span(scenario, fault) for fault in scenario.faults)
    lasting = {
        place: [_without_times(fault) for fault in getattr(scenario, place)] for place in ("delays", "events")
    }
    return WallPlan(delay_plan(scenario.model_copy(update=lasting)), spans, round_seconds(scenario) or None)


def _in_time(fault: AnyFault) -> bool:
    """Whether a fault's window is a span of time: its beginning is one or, left out, its duration."""
    return isinstance(fault.duration if fault.at is None else fault.at, float)


def _without_times(fault: AnyFault) -> AnyFault:
    return fault.model_copy(update={"at": None, "duration": None}) if _in_time(fault) else fault


def _span(scenario: Scenario, fault: AnyFault) -> Span | None:
    if not _in_time(fault):
        return None
    begin = float(fault.at or 0.0)
    return begin, math.inf if fault.duration is None else begin + _seconds(scenario, fault.duration)


def _seconds(scenario: Scenario, duration: float) -> float:
    """Return a duration in seconds: it is one already, unless it is a number of rounds (an int)."""
    if not isinstance(duration, int):
        return duration
    length = round_seconds(scenario)
    if not length:
        raise InputError(
            f"a fault begins at a time and lasts {duration} rounds: set pace (250ms, say), "
            "or give its duration as a time"
        )
    return duration * length
