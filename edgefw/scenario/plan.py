"""From the faults of a scenario to its delay plan: the simulator's, and version 1 of the broker's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.delays.agents import chosen
from edgefw.delays.entry import PlanEntry, first_round
from edgefw.delays.fault import Rules
from edgefw.delays.limits import MEGABYTE, Capacity
from edgefw.delays.link_id import feedback_links
from edgefw.delays.plan import Plan
from edgefw.errors import InputError
from edgefw.problem.seeding import rng

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgefw.scenario.model import Scenario


def round_seconds(scenario: Scenario) -> float | None:
    """Return the length of a round where the scenario fixes one, else None."""
    return None if scenario.pace == "asap" or scenario.clock == "rounds" else float(scenario.pace)


def rules_of(scenario: Scenario) -> Rules:
    """Return what a plan needs to know about the scenario's run."""
    links, rounds = feedback_links(scenario.network.agents), scenario.algorithm.rounds
    return Rules(scenario.clock, links, rounds, scenario.seed, round_seconds(scenario))


def delay_plan(scenario: Scenario) -> Plan:
    """Return the scenario's faults as a plan, one entry for all agents or one for each of some.

    A fault without a name is called by its place, "delays-0".
    """
    return Plan(rules_of(scenario), 1, tuple(_entries(scenario)))


def scenario_plan(scenario: Scenario) -> Plan:
    """Return the same plan, checked for what a broker can do with it."""
    plan = delay_plan(scenario)
    for position, fault in enumerate(scenario.faults):
        try:
            PlanEntry(None, "", fault, 0).check(plan.rules)
        except InputError as error:
            raise error.within(place(scenario, position)) from None
    plan.check()
    return plan


def check_simulable(scenario: Scenario) -> None:
    """Refuse what the emulator can do and the simulator cannot."""
    for position, fault in enumerate(scenario.faults):
        try:
            fault.check_simulable()
        except InputError as error:
            raise error.within(place(scenario, position)) from None


def timed(scenario: Scenario) -> list[str]:
    """Return the places ("delays.0") of the faults that only a length of rounds turns into rounds."""
    if scenario.clock == "rounds":
        return []
    return [place(scenario, position) for position, fault in enumerate(scenario.faults) if fault.counts_time]


def not_simulated(scenario: Scenario) -> list[str]:
    """Return what to say of what is in a scenario and the simulator takes no notice of."""
    if scenario.clock == "rounds" or scenario.devices == type(scenario.devices)():
        return []
    return ["devices are not simulated: `edgefw up --virtual` shows what slow ones do"]


def never_met(scenario: Scenario) -> list[str]:
    """Return what to say of every fault that would begin when all rounds are played."""
    rounds, length, said = scenario.algorithm.rounds, round_seconds(scenario), list[str]()
    for position, fault in enumerate(scenario.faults):
        first = first_round(fault, length)
        if first is not None and first > rounds:
            where = place(scenario, position)
            said.append(f"{where} does nothing: it begins in round {first}, and the run has {rounds}")
    return said


def place(scenario: Scenario, position: int) -> str:
    """Return where the fault at a position of `scenario.faults` stands in the file: "delays.0"."""
    late = position - len(scenario.delays)
    return f"delays.{position}" if late < 0 else f"events.{late}"


def _entries(scenario: Scenario) -> Iterator[PlanEntry]:
    for position, fault in enumerate(scenario.faults):
        name = fault.name or place(scenario, position).replace(".", "-")
        seed = getattr(fault, "seed", None)
        salt = 2 * position + 1 if seed is None else 2 * seed  # they never meet
        random = rng(scenario.seed, "delayed agents", position)
        agents = chosen(fault.agents, scenario.network.agents, random)
        plain = fault.model_copy(update={"agents": "all", "name": None})
        for agent in (None,) if agents is None else agents:
            yield PlanEntry(agent, name, plain, salt)


def declared_limits(scenario: Scenario) -> Capacity:
    """Return how much the broker may hold, if its machine has the memory."""
    limits = scenario.limits
    return Capacity(limits.link, limits.all, limits.megabytes * MEGABYTE)
