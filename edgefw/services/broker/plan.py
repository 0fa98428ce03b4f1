"""The delay plan of a broker: named faults on links. Every change while the broker runs makes a new version.

A fault acts on new feedback, and sticks to what was accepted under a plan that has it, also when it is
removed later; or it acts on whatever is pending for as long as it is in the plan. So what acts on a feedback
is `own` of the plan it was accepted under together with `later` of the plan in force.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from edgefw.errors import DataError, InputError
from edgefw.problem.delay import Blackout
from edgefw.problem.delay.link import OnLink
from edgefw.scenario.faults import AnyFault, check_values, trace_of
from edgefw.scenario.plan import chosen_agents, place, round_seconds
from edgefw.services.broker import resolve
from edgefw.services.broker.entry import Entry, Key, Moment, Rules, same_fault, stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgefw.scenario.model import Scenario

__all__ = [
    "MOST_FAULTS",
    "Entry",
    "Key",
    "Moment",
    "Plan",
    "Rules",
    "plan_from_json",
    "plan_to_json",
    "rules_of",
    "scenario_plan",
]

MOST_FAULTS = 1000
"""Of a plan: one on several links counts as often as there are links."""

_FAULT: TypeAdapter[AnyFault] = TypeAdapter(AnyFault)
_DISABLED = Blackout(window=(1, None))


@dataclass(frozen=True)
class Plan:
    """A version of the plan; `disabled` are the links on which everything is held."""

    rules: Rules
    version: int
    entries: tuple[Entry, ...]
    disabled: frozenset[int] = frozenset()
    _links: dict[Any, tuple[OnLink, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def own(self, agent: int, start: float | None) -> tuple[OnLink, ...]:
        """Return the faults on a link that stick to what is accepted under this plan."""
        return self._on_link(agent, start, "new")

    def later(self, agent: int, start: float | None) -> tuple[OnLink, ...]:
        """Return the faults on a link that act on whatever is pending while this plan is in force."""
        return self._on_link(agent, start, "pending")

    def _faults(self, agent: int, start: float | None, apply_to: str) -> tuple[OnLink, ...]:
        faults = [
            entry.on_link(self.rules, agent, start)
            for entry in self.entries
            if entry.concerns(agent) and entry.apply_to == apply_to
        ]
        if apply_to == "pending" and agent in self.disabled:
            faults.append(OnLink(_DISABLED, stream(self.rules.seed, agent, 0)))
        return tuple(faults)

    def _on_link(self, agent: int, start: float | None, apply_to: str) -> tuple[OnLink, ...]:
        which = agent, start, apply_to
        if which not in self._links:
            self._links[which] = self._faults(agent, start, apply_to)
        return self._links[which]

    def check(self) -> None:
        """Refuse entries that this run cannot have: an InputError says which and why."""
        self._check_size()
        seen: set[Key] = set()
        for agent in (*self.disabled, *(entry.agent or 0 for entry in self.entries)):
            if not 0 <= agent < self.rules.agents:
                raise InputError(f"there is no agent {agent}: agents are 0 to {self.rules.agents - 1}")
        for entry in self.entries:
            if entry.key in seen:
                raise InputError(f"there are two faults named {entry.name!r} on one link: names must differ")
            seen.add(entry.key)
            try:
                entry.on_link(self.rules, entry.agent or 0, 0.0)
            except InputError as error:
                raise InputError(f"{entry.name}: {error}") from None

    def _check_size(self) -> None:
        if len(self.entries) > MOST_FAULTS:
            raise InputError(
                f"the delay plan has {len(self.entries)} faults, counted by agent: at most {MOST_FAULTS} are "
                "allowed; agents: all counts as one"
            )
        try:
            check_values(sum(len(trace_of(entry.fault)) for entry, _ in self.shared()))
        except ValueError as error:
            raise InputError(f"the delay plan: {error}") from None

    def shared(self) -> list[tuple[Entry, list[int] | None]]:
        """Return the entries, those of one fault on several links as one, and whose links (None: all)."""
        found: list[tuple[Entry, list[int] | None]] = []
        for entry in self.entries:
            before, agents = found[-1] if found else (None, None)
            if entry.agent is None:
                found.append((entry, None))
            elif before is None or agents is None or not _alike(before, entry) or entry.agent in agents:
                found.append((entry, [entry.agent]))
            else:
                agents.append(entry.agent)
        return found

    def next_moment(self, now: float, start: float | None) -> float | None:
        """Return when, after `now`, an entry ends first, or one begins that acts on what is pending."""
        if self.rules.clock == "rounds":
            return None
        moments = (moment for entry in self.entries for moment in self._moments(entry, start))
        return min((moment for moment in moments if now < moment < math.inf), default=None)

    def _moments(self, entry: Entry, start: float | None) -> Iterator[float]:
        begin, end = resolve.span(entry, self.rules, start)
        yield end
        if entry.apply_to == "pending":
            yield begin

    def in_force(self, agent: int, now: float, t: int, start: float | None) -> tuple[Entry, ...]:
        """Return the entries on a link that have begun and are not over; t is its last submitted round."""
        return tuple(
            entry
            for entry in self.entries
            if entry.concerns(agent) and self._acts(entry, agent, now, t, start)
        )

    def _acts(self, entry: Entry, agent: int, now: float, t: int, start: float | None) -> bool:
        if resolve.counts_rounds(entry, self.rules):
            first, last = resolve.window(entry, self.rules, agent) or (1, None)
            return first <= t + 1 and (last is None or t + 1 < last)
        begin, end = resolve.span(entry, self.rules, now if start is None else start)
        return begin <= now < end

    def over(self, now: Moment, start: float | None) -> tuple[Entry, ...]:
        """Return the entries whose duration is over.

        One that counts rounds is over when every link it is on has submitted the last of them, and one more
        if it acts on what is pending: what comes with the last one is collected after that is submitted.
        """
        return tuple(entry for entry in self.entries if self._is_over(entry, now, start))

    def _is_over(self, entry: Entry, now: Moment, start: float | None) -> bool:
        if entry.fault.duration is None:
            return False
        if not resolve.counts_rounds(entry, self.rules):
            return resolve.span(entry, self.rules, start)[1] <= now.now
        before = 0 if entry.apply_to == "pending" else 1
        return all(
            now.rounds[agent] >= resolve.stop(entry, self.rules, agent) - before
            for agent in self._agents(entry)
        )

    def longest(self) -> int | None:
        """Return the largest delay in rounds that entries add up to on a link, T at most; None: no bound."""
        added = [0] * self.rules.agents
        for entry in self.entries:
            most = resolve.most_added(entry, self.rules)
            if most is None:
                return None
            for agent in self._agents(entry):
                added[agent] += most
        return self.rules.rounds if self.disabled else min(1 + max(added), self.rules.rounds)

    def _agents(self, entry: Entry) -> range | tuple[int]:
        return range(self.rules.agents) if entry.agent is None else (entry.agent,)


def _alike(one: Entry, other: Entry) -> bool:
    return one.name == other.name and same_fault(one, other.fault)


def rules_of(scenario: Scenario) -> Rules:
    """Return what a plan needs to know about the scenario's run."""
    n, rounds = scenario.network.agents, scenario.algorithm.rounds
    return Rules(scenario.clock, n, rounds, scenario.seed, round_seconds(scenario))


def scenario_plan(scenario: Scenario) -> Plan:
    """Return version 1 of the plan: the scenario's faults, one entry for all agents or one for each of some.

    A fault without a name is called by its place, "delays-0". Draws are those of the simulator.
    """
    plan = Plan(rules_of(scenario), 1, tuple(_entries(scenario)))
    for position, entry in enumerate(scenario.faults):
        try:
            Entry(None, "", entry, 0).on_link(plan.rules, 0, 0.0)
        except InputError as error:
            raise InputError(f"{place(scenario, position)}: {error}") from None
    plan.check()
    return plan


def _entries(scenario: Scenario) -> Iterator[Entry]:
    for position, fault in enumerate(scenario.faults):
        name = fault.name or place(scenario, position).replace(".", "-")
        seed = getattr(fault, "seed", None)
        salt = 2 * position + 1 if seed is None else 2 * seed
        agents = chosen_agents(scenario, position)
        for agent in (None,) if agents is None else sorted(set(agents)):
            yield Entry(agent, name, fault, salt)


def plan_to_json(plan: Plan, real: Callable[[float], int]) -> str:
    """Return the plan as text; moments of this process's clock become nanoseconds of real time."""
    entries = ",".join(_written(entry, real) for entry in plan.entries)
    return f'{{"version":{plan.version},"disabled":{sorted(plan.disabled)},"entries":[{entries}]}}'


def _written(entry: Entry, real: Callable[[float], int]) -> str:
    own = {
        "agent": entry.agent,
        "name": entry.name,
        "salt": entry.salt,
        "since": None if entry.since is None else real(entry.since),
        "since_rounds": entry.since_rounds,
    }
    return f'{json.dumps(own)[:-1]},"fault":{entry.text}}}'


def plan_from_json(text: str, rules: Rules, moment: Callable[[int], float]) -> Plan:
    """Return the plan of a text that `plan_to_json` wrote; `moment` turns real time into this process's."""
    try:
        document = json.loads(text)
        entries = tuple(_entry(each, moment) for each in document["entries"])
        plan = Plan(rules, int(document["version"]), entries, frozenset(document["disabled"]))
        plan.check()
    except (ValueError, KeyError, TypeError, IndexError, InputError) as error:
        raise DataError(f"this is no delay plan of the run: {str(error).splitlines()[0]}") from None
    return plan


def _entry(written: dict[str, Any], moment: Callable[[int], float]) -> Entry:
    since, rounds = written["since"], written["since_rounds"]
    return Entry(
        written["agent"],
        written["name"],
        _FAULT.validate_python(written["fault"]),
        written["salt"],
        None if since is None else moment(since),
        None if rounds is None else tuple(rounds),
    )
