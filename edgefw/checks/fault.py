"""What every fault type has to pass, by its own examples, under each of its clocks."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgefw.checks.failure import require
from edgefw.delays.body import COMMON, fault_body, read_fault
from edgefw.delays.dues import Messages, round_dues, steady_due, wall_dues
from edgefw.delays.entry import PlanEntry, same_fault
from edgefw.delays.manual import clocks_of
from edgefw.delays.plan import Plan, plan_from_json, plan_to_json
from edgefw.delays.registry import TYPES
from edgefw.delays.units import NEVER
from edgefw.scenario.load import dump, parse, validate
from edgefw.scenario.plan import delay_plan, rules_of, scenario_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgefw.delays.fault import Rules
    from edgefw.scenario.model import Scenario

_T, _N, _START = 40, 4, 1000.0


class Case(NamedTuple):
    """An example of a type as a scenario writes it, under a clock that it may be written under."""

    clock: str
    example: dict[str, Any]

    def scenario(self, **changes: Any) -> Scenario:
        """Return a small scenario that has it."""
        document = {
            "clock": self.clock,
            "network": {"agents": _N},
            "algorithm": {"horizon": _T},
            "delays": [{**self.example, **changes}],
        }
        return validate(document, source="example")

    @property
    def rules(self) -> Rules:
        """What a plan of that scenario is held to."""
        return rules_of(self.scenario())

    @property
    def posted(self) -> dict[str, Any]:
        """The example as it is posted to the link of an agent."""
        return {name: value for name, value in self.example.items() if name != "agents"}


def cases(name: str) -> list[Case]:
    """Return all cases of a type, by its examples."""
    type_ = TYPES[name]
    examples = [{**example, "type": name} for example in type_.examples]
    return [Case(clock, example) for example in examples for clock in clocks_of(type_, example)]


def it_is_described(name: str) -> None:
    """It has an example for each of its clocks, a line of its own, and words for each field."""
    type_ = TYPES[name]
    shown = {case.clock for case in cases(name)}
    require(shown == set(type_.clocks), f"its clocks are {type_.clocks}, it has examples for {sorted(shown)}")
    silent = [field for field, about in type_.own_fields().items() if not about.description]
    require(not silent, f"fields without a description: {', '.join(silent)}")
    require("__doc__" in vars(type_), "the class has no docstring, which pages and help show")


def it_is_read_as_it_is_written(case: Case) -> None:
    """A scenario, the admin endpoint (nested or flat) and a journal read back what they write."""
    made, rules = case.scenario(), case.rules
    again = parse(dump(made), "again")
    require(again.delays == made.delays, "a scenario that is written out is read as another")
    own = {field: value for field, value in case.posted.items() if field not in COMMON}
    common = {field: value for field, value in case.posted.items() if field in COMMON}
    flat, nested = read_fault(case.posted, rules), read_fault({**common, "attributes": own}, rules)
    require(flat == nested, "the endpoint reads it nested as another than flat")
    entry = PlanEntry(3, "it", flat.fault, 5)
    shown = read_fault(fault_body(entry), rules).fault
    require(same_fault(entry, shown), "what the endpoint shows is read as another")
    plan = Plan(rules, 7, (entry,))
    text = plan_to_json(plan, round)
    require(plan_from_json(text, rules, float) == plan, "a journal reads it as another than it wrote")
    kept = json.loads(text)["entries"][0]["fault"]["type"]
    require(kept == case.example["type"], f"a journal keeps the type {kept}")


def each_round_is_treated_alone(case: Case) -> None:
    """What happens to a message depends on its round, not on which others are asked for, nor on the order."""
    plan = scenario_plan(case.scenario(agents="all"))
    shuffled = np.random.default_rng(1).permutation(np.arange(1, _T + 1))
    together = list(_dues(case, plan, shuffled))
    for s, found in zip(shuffled, together, strict=True):
        (alone,) = _dues(case, plan, np.array([s]))
        require(found == alone, f"round {s} is due {found} among others, {alone} alone")


def nothing_comes_early(case: Case) -> None:
    """By the wall clock nothing is due before it came; by rounds a delay is at least 1."""
    plan, rounds = scenario_plan(case.scenario(agents="all")), np.arange(1, _T + 1)
    for s, (due, _) in zip(rounds, _dues(case, plan, rounds), strict=True):
        least = s if case.clock == "rounds" else _START + s * 0.1
        require(due >= least, f"round {s} is due at {due}, before {least}")


def steady_means_steady(case: Case) -> None:
    """A type that says `steady` gives the same by the short way that the broker has for it."""
    if case.clock != "wall":
        return
    plan, steady = scenario_plan(case.scenario(agents="all")), TYPES[case.example["type"]].steady
    own, later = plan.own(0, _START), plan.later(0, _START)
    for s in range(1, _T + 1):
        one = Messages(np.array([s]), np.array([_START + s]), np.zeros(1))
        long = wall_dues(own, later, one, plan.rules, now=_START + s, start=_START, ended=False).due[0]
        short = steady_due(own, later, s, _START + s)
        require(short == (long if steady else None), f"round {s} is due {long}, by the short way {short}")


def the_simulator_counts_what_the_broker_holds(case: Case) -> None:
    """The simulator's table of delays is what the broker does, within what the type says is the most."""
    made = case.scenario()
    table, plan, rounds = delay_plan(made).table(), scenario_plan(made), np.arange(1, _T + 1)
    require(((table >= 1) & (table <= NEVER)).all(), "a delay is below 1")
    for agent in range(_N if case.clock == "rounds" else 0):
        batch = Messages(rounds, np.zeros(_T), np.zeros(_T))
        found = round_dues(plan.own(agent, None), plan.later(agent, None), batch, plan.rules).due.tolist()
        expected = np.where(table[agent] == NEVER, math.inf, table[agent] + rounds - 1).tolist()
        require(found == expected, f"agent {agent}: the broker's {found}, the simulator's {expected}")
    longest = plan.longest() if case.clock == "rounds" else None
    largest = int(np.minimum(table[table < NEVER], _T).max(initial=1))
    require(longest is None or largest <= longest, f"a delay is {largest}, `most` says {longest} at most")


def what_it_declares_is_a_number_of_rounds(case: Case) -> None:
    """What it declares before a run, `declared`, is at least 0 rounds more than none."""
    plan = delay_plan(case.scenario())
    for agent in range(_N):
        declared = plan.declared(agent)
        require(declared >= 1, f"it declares a delay of {declared} rounds for agent {agent}")


CHECKS: tuple[Callable[[Case], None], ...] = (
    it_is_read_as_it_is_written,
    each_round_is_treated_alone,
    nothing_comes_early,
    steady_means_steady,
    the_simulator_counts_what_the_broker_holds,
    what_it_declares_is_a_number_of_rounds,
)


def _dues(case: Case, plan: Plan, rounds: Any) -> Iterator[tuple[float, bool]]:
    batch = Messages(rounds, _START + rounds * 0.1, np.zeros(len(rounds)))
    own, later = plan.own(0, _START), plan.later(0, _START)
    if case.clock == "rounds":
        found = round_dues(own, later, batch, plan.rules)
    else:
        found = wall_dues(own, later, batch, plan.rules, now=_START, start=_START, ended=False)
    yield from zip(found.due.tolist(), found.dropped.tolist(), strict=True)
