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


def timed(scenario: Scenario) -> list[str]:
    """Return the places ("delays.0") of the faults that only a length of rounds turns into rounds."""
    if scenario.clock == "rounds":
        return []
    return [
        place(scenario, position)
        for position, fault in enumerate(scenario.faults)
        if isinstance(fault, faults.Latency | faults.Ramp)
        or any(isinstance(value, float) for _, value in faults.amounts(fault))
    ]


def place(scenario: Scenario, position: int) -> str:
    """Return where the fault at a position of `scenario.faults` stands in the file: "delays.0"."""
    late = position - len(scenario.delays)
    return f"delays.{position}" if late < 0 else f"events.{late}"


def _fault(scenario: Scenario, position: int, fault: faults.AnyFault) -> delay.Fault:
    try:
        return _resolved(scenario, position, fault)
    except InputError as error:
        raise InputError(f"{place(scenario, position)}: {error}") from None


def _resolved(scenario: Scenario, position: int, fault: faults.AnyFault) -> delay.Fault:
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
    start = 1 if fault.at is None else _round_at(scenario, fault.at)
    stop = None if fault.duration is None else start + max(1, _rounds(scenario, fault.duration))
    return start, stop


def _round_at(scenario: Scenario, at: float) -> int:
    """Return the round that is named, or the one under way at that time: round t begins at (t-1) pace."""
    return max(1, at) if isinstance(at, int) else 1 + _rounds(scenario, at)


def _rounds(scenario: Scenario, amount: float) -> int:
    """Return an amount in rounds: it is one already (an int), or a time that the pace divides."""
    if isinstance(amount, int):
        return amount
    seconds = round_seconds(scenario)
    if seconds is None:
        raise InputError("a time needs rounds of a known length: set pace=250ms, say, or write rounds")
    return math.floor(amount / seconds + 1e-9)
