"""Holds of a small scenario, and what is done to them by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopback_broker import scenario

from edgefw.delays.hold import RoundsHold, WallHold, make_hold
from edgefw.delays.limits import Capacity
from edgefw.scenario.plan import scenario_plan

if TYPE_CHECKING:
    from edgefw.delays.hold import Hold
    from edgefw.delays.plan import Plan
    from edgefw.delays.registry import AnyFault
    from edgefw.scenario.model import Scenario

AGENTS, ROUNDS = 3, 8
MANY = Capacity(link=10_000, all=10_000, bytes=10**9)
DROPS = {"type": "drop", "at": "3 rounds", "duration": "1 rounds", "agents": [0]}  # round 3 of agent 0
LATE = {
    "type": "latency",
    "latency": "5s",
    "at": "2 rounds",
    "duration": "1 rounds",
    "agents": [0],
}  # its round 2


def given_run(clock: str, *faults: dict[str, Any], agents: int = AGENTS, rounds: int = ROUNDS) -> Scenario:
    return scenario(clock, *faults, agents=agents, rounds=rounds, seed=3)


def wall(*faults: dict[str, Any], limits: Capacity = MANY) -> WallHold:
    hold = make_hold(scenario_plan(given_run("wall", *faults)), limits)
    assert isinstance(hold, WallHold)
    return hold


def by_rounds(*faults: dict[str, Any], limits: Capacity = MANY, agents: int = 1) -> RoundsHold:
    hold = make_hold(scenario_plan(given_run("rounds", *faults, agents=agents)), limits)
    assert isinstance(hold, RoundsHold)
    return hold


def fault(**fields: Any) -> AnyFault:
    return given_run("wall", fields).delays[0]


def payload(agent: int, s: int) -> bytes:
    return bytes([agent, s]) * 3


def put(hold: Hold, s: int, now: float = 0.0, agent: int = 0) -> None:
    hold.submit(agent, s, payload(agent, s), 1.0, now)


def put_in_force(hold: Hold, plan: Plan, now: float) -> list[int]:
    """Change the plan; return the rounds of agent 0 that are dropped by it."""
    dropped = {agent: hold.redue(agent, now) for agent in hold.change(plan)}
    return dropped.get(0, [])


def dues(hold: Hold, agent: int = 0) -> dict[int, float]:
    return {held.round: held.due for held in hold.links[agent].waiting()}
