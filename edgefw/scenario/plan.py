"""From the faults of a scenario to a delay plan: the simulator's, and the parts of the broker's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from edgefw.errors import InputError
from edgefw.problem import delay
from edgefw.problem.seeding import rng
from edgefw.scenario import faults

if TYPE_CHECKING:
    from edgefw.problem.delay.faults import Window
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


def chosen_agents(scenario: Scenario, position: int) -> tuple[int, ...] | None:
    """Return the agents that the fault at a position is about, drawn if it says so; None = all of them."""
    agents = scenario.faults[position].agents
    if agents == "all":
        return None
    if isinstance(agents, faults.Draw):
        random = rng(scenario.seed, "delayed agents", position)
        n = scenario.network.agents
        return delay.delayed_agents(n, agents.draw, random, with_replacement=agents.replacement)
    return tuple(agents)


def in_rounds(amount: float, length: float | None) -> int:
    """Return an amount in rounds: it is one already (an int), or a time, divided by a round's."""
    if isinstance(amount, int):
        return amount
    if length is None:
        raise InputError("a time needs rounds of a known length: set pace=250ms, say, or write rounds")
    return math.floor(amount / length + 1e-9)


def window_of(fault: faults.AnyFault, length: float | None, base: int = 0) -> Window | None:
    """Return the rounds [start, stop) in which a fault is in force, counted from `base`; None = always.

    A time is the round under way at that time: round t begins at (t-1) times the length of a round.
    """
    if fault.at is None and fault.duration is None:
        return None
    at = 1 if fault.at is None else fault.at
    start = base + (max(1, at) if isinstance(at, int) else 1 + in_rounds(at, length))
    return start, None if fault.duration is None else start + max(1, in_rounds(fault.duration, length))


def made(
    fault: faults.AnyFault,
    window: Window | None,
    *,
    unit: str,
    period: float | None,
    agents: tuple[int, ...] | None = None,
) -> delay.Fault:
    """Return a fault as the delay plan knows it.

    `unit` is that of ramps and adversaries, "rounds" or "seconds"; `period` the adversary's, in it.
    """
    common: dict[str, Any] = {
        "agents": agents,
        "probability": fault.probability,
        "window": window,
        "pending": faults.applies_to(fault) == "pending",
    }
    match fault:
        case faults.Latency():
            return delay.Latency(fault.latency, **_drawn(fault), **common)
        case faults.Rounds():
            return delay.Rounds(fault.rounds, **_drawn(fault), **common)
        case faults.Ramp():
            return delay.Ramp(fault.start, fault.stop, fault.step, fault.interval, unit, **common)
        case faults.Drop():
            return delay.Drop(**common)
        case faults.Blackout():
            return delay.Blackout(**{**common, "window": window or (1, None)})
        case faults.Adversary():
            return delay.Adversary(fault.strategy, period, unit, fault.share, **common)


def _fault(scenario: Scenario, position: int, fault: faults.AnyFault) -> delay.Fault:
    try:
        return _resolved(scenario, position, fault)
    except InputError as error:
        raise InputError(f"{place(scenario, position)}: {error}") from None


def _resolved(scenario: Scenario, position: int, fault: faults.AnyFault) -> delay.Fault:
    length, period = round_seconds(scenario), None
    unit = "seconds" if isinstance(fault, faults.Ramp) and scenario.clock == "wall" else "rounds"
    if isinstance(fault, faults.Adversary) and fault.period is not None:
        period = max(1, in_rounds(fault.period, length))
    agents = chosen_agents(scenario, position)
    return made(fault, window_of(fault, length), unit=unit, period=period, agents=agents)


def _drawn(fault: faults.Latency | faults.Rounds) -> dict[str, Any]:
    return {
        "jitter": fault.jitter,
        "distribution": fault.distribution,
        "correlation": fault.correlation,
        "trace": tuple(fault.trace or ()),
        "salt": fault.seed,
    }
