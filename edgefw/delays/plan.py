"""The delay plan of a broker: named faults on links. Every change while the broker runs makes a new version.

A fault acts on new feedback, and sticks to what was accepted under a plan that has it, also when it is
removed later; or it acts on whatever is pending for as long as it is in the plan. So what acts on a feedback
is `own` of the plan it was accepted under together with `later` of the plan in force.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.delays.blackout import Blackout
from edgefw.delays.drawn import check_values, trace_of
from edgefw.delays.dues import Messages, arrivals
from edgefw.delays.entry import Key, Moment, PlanEntry, draws_of, same_fault
from edgefw.delays.on_link import UNKNOWN, OnLink
from edgefw.delays.registry import FAULT
from edgefw.delays.units import LONGEST, NEVER, SLACK
from edgefw.errors import DataError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgefw.delays.fault import Rules
    from edgefw.delays.limits import Capacity

MOST_FAULTS = 1000
"""Of a plan: one on several links counts as often as there are links."""


Faults = tuple[OnLink, ...]


@dataclass(frozen=True)
class Plan:
    """A version of the plan; `disabled` are the links on which everything is held."""

    rules: Rules
    version: int
    entries: tuple[PlanEntry, ...]
    disabled: frozenset[int] = frozenset()
    _links: dict[Any, tuple[Faults, Faults]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    texts: dict[Any, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def own(self, agent: int, start: float | None) -> Faults:
        """Return the faults on a link that stick to what is accepted under this plan."""
        return self.acting(agent, start)[0]

    def later(self, agent: int, start: float | None) -> Faults:
        """Return the faults on a link that act on whatever is pending while this plan is in force."""
        return self.acting(agent, start)[1]

    def acting(self, agent: int, start: float | None) -> tuple[Faults, Faults]:
        """Return the faults on a link in a run that began at `start`: `own` and `later`."""
        which = agent, start if self.rules.clock == "wall" else None  # rounds are counted from nothing else
        if which not in self._links:
            there = [entry for entry in self.entries if entry.concerns(agent)]
            own = [entry.on_link(self.rules, *which) for entry in there if entry.fault.acts_on == "new"]
            later = [entry.on_link(self.rules, *which) for entry in there if entry.fault.acts_on == "pending"]
            if agent in self.disabled:
                later.append(_disabled(self.rules, agent))
            self._links[which] = tuple(own), tuple(later)
        return self._links[which]

    @cached_property
    def on_pending(self) -> tuple[PlanEntry, ...]:
        """The entries that act on whatever is pending."""
        return tuple([entry for entry in self.entries if entry.fault.acts_on == "pending"])

    def other_links(self, before: Plan) -> list[int]:
        """Return the links on which other faults act on pending feedback than in the plan before."""
        if before.disabled == self.disabled and before.on_pending == self.on_pending:
            return []

        def faults(plan: Plan, agent: int) -> tuple[bool, list[int]]:
            """Return them by identity: an entry that was posted again is another."""
            there = [id(entry) for entry in plan.on_pending if entry.concerns(agent)]
            return agent in plan.disabled, there

        return [agent for agent in range(self.rules.agents) if faults(before, agent) != faults(self, agent)]

    def check(self) -> None:
        """Refuse entries that this run cannot have: an InputError says which and why."""
        self.check_size()
        seen: set[Key] = set()
        for agent in (*self.disabled, *(entry.agent or 0 for entry in self.entries)):
            if not 0 <= agent < self.rules.agents:
                raise InputError(f"there is no agent {agent}: agents are 0 to {self.rules.agents - 1}")
        for entry in self.entries:
            if entry.key in seen:
                raise InputError(f"there are two faults named {entry.name!r} on one link: names must differ")
            seen.add(entry.key)
            try:
                entry.check(self.rules)
            except InputError as error:
                raise error.within(entry.name) from None

    def check_size(self) -> None:
        """Refuse more than a plan may hold: all that an edit leaves to be checked, each fault has been."""
        if len(self.entries) > MOST_FAULTS:
            raise InputError(
                f"the delay plan has {len(self.entries)} faults, counted by agent: at most {MOST_FAULTS} are "
                "allowed; agents: all counts as one"
            )
        if not any(trace_of(entry.fault) for entry in self.entries):
            return
        try:
            check_values(sum(len(trace_of(entry.fault)) for entry, _ in self.shared))
        except ValueError as error:
            raise InputError(f"the delay plan: {error}") from None

    def check_limits(self, limits: Capacity) -> None:
        """Refuse a plan that is too large, or that would fill the broker for good.

        Under the rounds clock what is pending comes only if its agent goes on, so there must be room for all
        that it submits until then. By the wall clock it comes in any case, and a full broker only makes
        agents wait; but what is held until the end waits for the last round.
        """
        self.check_size()
        rounds, links = self.rules.rounds, self.rules.agents
        if self.rules.clock == "wall":
            held = [entry for entry in self.entries if entry.fault.waits_for_end]
            if not held:
                return
            if all(entry.agent is not None for entry in held):
                links = len({entry.agent for entry in held})
            needed, why = rounds, f"{held[0].name} holds {rounds} rounds until the end"
        else:
            longest = self.longest()
            needed = rounds if longest is None else min(longest + 1, rounds)
            why = f"delays reach {needed - 1} rounds"
        for name, most, least in (("link", limits.link, needed), ("all", limits.all, needed * links)):
            if most < least:
                raise InputError(
                    f"limits.{name} is {most}, and {why}: at least {least} are needed, or nobody could go on"
                )

    @cached_property
    def shared(self) -> list[tuple[PlanEntry, list[int] | None]]:
        """The entries with their agents (None: all); a fault on several links is one entry."""
        found: list[tuple[PlanEntry, list[int] | None]] = []
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
        """Return the first moment after `now` at which an entry ends, or one on pending feedback begins."""
        if self.rules.clock == "rounds":
            return None
        spans = [(entry.span(self.rules, start), entry.fault.acts_on) for entry in self.entries]
        moments = [end for (_, end), _ in spans] + [begin for (begin, _), on in spans if on == "pending"]
        return min((moment for moment in moments if now < moment < math.inf), default=None)

    def touched(self, before: float, now: float, start: float | None) -> list[int]:
        """Return the links on which a fault that acts on pending feedback began or ended in (before, now]."""
        whose = {
            entry.agent
            for entry in self.on_pending
            if any(before < moment <= now for moment in entry.span(self.rules, start))
        }
        return [agent for agent in range(self.rules.agents) if whose & {agent, None}]

    def in_force(self, agent: int, now: float, t: int, start: float | None) -> tuple[PlanEntry, ...]:
        """Return the entries on a link that have begun and are not over; t is its last submitted round."""

        def acts(entry: PlanEntry) -> bool:
            if entry.counts_rounds(self.rules):
                first, stop = entry.window(self.rules, agent) or (1, None)
                return first <= t + 1 and (stop is None or t + 1 < stop)
            begin, end = entry.span(self.rules, now if start is None else start)
            return begin <= now < end

        return tuple(entry for entry in self.entries if entry.concerns(agent) and acts(entry))

    def over(self, now: Moment, start: float | None) -> tuple[PlanEntry, ...]:
        """Return the entries whose duration is over.

        One that counts rounds is over when every link it is on has submitted the last of them, and one more
        if it acts on what is pending: what comes with the last one is collected after that is submitted.
        """

        def passed(entry: PlanEntry, agent: int) -> bool:
            _, stop = entry.window(self.rules, agent) or (1, None)
            return stop is not None and now.rounds[agent] >= stop - (entry.fault.acts_on == "new")

        def is_over(entry: PlanEntry) -> bool:
            if entry.counts_rounds(self.rules):
                return all(passed(entry, agent) for agent in self._agents(entry))
            return entry.span(self.rules, start)[1] <= now.now

        return tuple(entry for entry in self.entries if entry.fault.duration is not None and is_over(entry))

    def longest(self) -> int | None:
        """Return the largest delay in rounds that entries add up to on a link, T at most; None: no bound."""
        added = [0] * self.rules.agents
        for entry in self.entries:
            most = entry.fault.most(self.rules, entry.window(self.rules, entry.agent or 0))
            if most is None:
                return None
            for agent in self._agents(entry):
                added[agent] += most
        return self.rules.rounds if self.disabled else min(1 + max(added), self.rules.rounds)

    def declared(self, agent: int) -> int:
        """Return the delay in rounds, at least 1, that the entries on a link say they add up to."""
        added = sum(
            entry.fault.declared(self.rules, entry.in_rounds(self.rules, agent).window)
            for entry in self.entries
            if entry.concerns(agent)
        )
        return 1 + math.floor(min(added + SLACK, LONGEST))

    def delays(self, agent: int, rounds: range) -> NDArray[np.int64]:
        """Return the delays (len(rounds),) of a link's messages of these rounds, NEVER of what is lost.

        All is counted in rounds: under the wall clock a time is as many as the pace makes of it.
        """
        s = np.array(rounds, dtype=np.int64)
        own: list[OnLink] = []
        later: list[OnLink] = []
        for entry in self.entries:
            if entry.concerns(agent):
                (own if entry.fault.acts_on == "new" else later).append(entry.in_rounds(self.rules, agent))
        arrival, lost = arrivals(own, later, Messages(s, UNKNOWN, None), self.rules)
        return np.where(lost | (arrival >= NEVER), NEVER, arrival - s + 1)

    def table(self) -> NDArray[np.int64]:
        """Return the delays (links, T): column s-1 is the delay of the feedback of round s."""
        every = range(1, self.rules.rounds + 1)
        return np.stack([self.delays(agent, every) for agent in range(self.rules.agents)])

    def _agents(self, entry: PlanEntry) -> range | tuple[int]:
        return range(self.rules.agents) if entry.agent is None else (entry.agent,)


def _alike(one: PlanEntry, other: PlanEntry) -> bool:
    return one.name == other.name and same_fault(one, other.fault)


@lru_cache(maxsize=4096)
def _disabled(rules: Rules, agent: int) -> OnLink:
    """Return what a disabled link has: a blackout without end. The same for all versions of a plan."""
    return OnLink(Blackout(), draws_of(rules.seed, rules.links[agent], 0), rules, window=(1, None))


def plan_to_json(plan: Plan, real: Callable[[float], int]) -> str:
    """Return the plan as text; moments of this process's clock become nanoseconds of real time.

    It is made once: the journal and the record have the same text.
    """
    if real not in plan.texts:
        entries = ",".join([_written(entry, real) for entry in plan.entries])
        head = f'{{"version":{plan.version},"disabled":{sorted(plan.disabled)}'
        plan.texts[real] = f'{head},"entries":[{entries}]}}'
    return plan.texts[real]


def _written(entry: PlanEntry, real: Callable[[float], int]) -> str:
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
        entries = tuple(_entry(each, rules, moment) for each in document["entries"])
        plan = Plan(rules, int(document["version"]), entries, frozenset(document["disabled"]))
        plan.check()
    except (ValueError, KeyError, TypeError, IndexError, InputError) as error:
        raise DataError(f"this is no delay plan of the run: {str(error).splitlines()[0]}") from None
    return plan


def _entry(written: dict[str, Any], rules: Rules, moment: Callable[[int], float]) -> PlanEntry:
    since, rounds, fault = written["since"], written["since_rounds"], FAULT.validate_python(written["fault"])
    fault.check(rules.clock)
    return PlanEntry(
        written["agent"],
        written["name"],
        fault,
        written["salt"],
        None if since is None else moment(since),
        None if rounds is None else tuple(rounds),
    )
