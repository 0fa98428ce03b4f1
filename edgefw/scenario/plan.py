"""From the faults of a scenario to the delay plan that the simulator and the broker draw from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from edgefw.errors import InputError
from edgefw.problem import delay
from edgefw.problem.seeding import rng
from edgefw.scenario import faults

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario


def round_seconds(scenario: Scenario) -> float | None:
    """Return the length of a round where the scenario fixes one, else None."""
    return None if scenario.pace == "asap" or scenario.clock == "rounds" else float(scenario.pace)


def delay_plan(scenario: Scenario) -> delay.DelayPlan:
    """Return the scenario's delay plan, times of events turned into rounds by the pace."""
    resolved = tuple(_fault(scenario, position, fault) for position, fault in enumerate(scenario.faults))
    return delay.DelayPlan(resolved, agents=scenario.network.agents, seed=scenario.seed)


def _fault(scenario: Scenario, position: int, fault: faults.AnyFault) -> delay.Fault:
    agents = _agents(scenario, position, fault)
    common: dict[str, Any] = {
        "agents": agents,
        "probability": fault.probability,
        "window": _window(scenario, fault),
    }
    match fault:
        case faults.Latency():
            return delay.Latency(fault.latency, **_drawn(fault), **common)
        case faults.Rounds():
            return delay.Rounds(fault.rounds, **_drawn(fault), **common)
        case faults.Ramp():
            unit = "rounds" if scenario.clock == "rounds" else "seconds"
            return delay.Ramp(fault.start, fault.stop, fault.step, fault.interval, unit, **common)
        case faults.Drop():
            return delay.Drop(**common)
        case faults.Blackout():
            return delay.Blackout(**{**common, "window": common["window"] or (1, None)})
        case faults.Adversary():
            return delay.Adversary(fault.strategy, fault.period, **common)


def _drawn(fault: faults.Latency | faults.Rounds) -> dict[str, Any]:
    return {
        "jitter": fault.jitter,
        "distribution": fault.distribution,
        "correlation": fault.correlation,
        "trace": tuple(fault.trace or ()),
        "salt": fault.seed,
    }


def _agents(scenario: Scenario, position: int, fault: faults.AnyFault) -> tuple[int, ...] | None:
    if fault.agents == "all":
        return None
    if isinstance(fault.agents, faults.Draw):
        draw, n = fault.agents, scenario.network.agents
        random = rng(scenario.seed, "delayed agents", position)
        return delay.delayed_agents(n, draw.draw, random, with_replacement=draw.replacement)
    return tuple(fault.agents)


def _window(scenario: Scenario, fault: faults.AnyFault) -> tuple[int, int | None] | None:
    """Return the rounds [start, stop) in which the fault is in force, or None for always."""
    if fault.at is None and fault.duration is None:
        return None
    start = 1 if fault.at is None else max(1, _rounds(scenario, fault.at))
    stop = None if fault.duration is None else start + max(1, _rounds(scenario, fault.duration))
    return start, stop


def _rounds(scenario: Scenario, amount: float) -> int:
    """Return an amount in rounds: it is one already (an int), or a time that the pace divides."""
    if isinstance(amount, int):
        return amount
    seconds = round_seconds(scenario)
    if seconds is None:
        raise InputError("times need rounds of a known length: set pace (250ms, say), or write rounds")
    return math.floor(amount / seconds + 1e-9)
