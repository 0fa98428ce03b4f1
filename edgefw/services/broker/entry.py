"""A named fault of a broker's delay plan, and what it needs to know about the run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from edgefw.problem.delay import Stream
from edgefw.problem.delay.link import OnLink
from edgefw.scenario.faults import AnyFault, ApplyTo, applies_to
from edgefw.services.broker import resolve

if TYPE_CHECKING:
    from edgefw.problem import delay

Key = tuple[int | None, str]


@dataclass(frozen=True)
class Rules:
    """What a plan needs to know about the run: `rounds` is T, `round_seconds` the pace by the wall clock."""

    clock: str
    agents: int
    rounds: int
    seed: int
    round_seconds: float | None


@dataclass(frozen=True)
class Moment:
    """Now, in both clocks' terms: `rounds` are the last submitted ones of every link."""

    now: float
    rounds: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """A named fault on the link of `agent` (None: on all of them), with the salt of its draws.

    `since` (wall clock) or `since_rounds` (rounds clock) say when it was posted; without them it is counted
    from the run's start. Its name and agents are the entry's own, the fault has none.
    """

    agent: int | None
    name: str
    fault: AnyFault
    salt: int
    since: float | None = None
    since_rounds: tuple[int, ...] | None = None
    _made: dict[Any, delay.Fault] = field(default_factory=dict, init=False, repr=False, compare=False)
    _links: dict[Any, OnLink] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.fault.agents != "all" or self.fault.name is not None:
            plain = self.fault.model_copy(update={"agents": "all", "name": None})
            object.__setattr__(self, "fault", plain)

    @property
    def key(self) -> Key:
        """What tells it from all others in a plan."""
        return self.agent, self.name

    @property
    def apply_to(self) -> ApplyTo:
        """Which feedback it acts on."""
        return applies_to(self.fault)

    @cached_property
    def text(self) -> str:
        """Its fault as JSON; written once, for every version of the plan is kept whole."""
        return json.dumps(self.fault.model_dump(mode="json", exclude_none=True), separators=(",", ":"))

    def concerns(self, agent: int) -> bool:
        """Whether it is on this agent's link."""
        return self.agent is None or self.agent == agent

    def on_link(self, rules: Rules, agent: int, start: float | None) -> OnLink:
        """Return it as it is on an agent's link, in a run that began at `start`."""
        # Once for all versions that the entry is in: a trace may be long, and the same is the same object.
        if (rules, agent, start) not in self._links:
            which = rules, None if self.since_rounds is None else self.since_rounds[agent]
            if which not in self._made:
                self._made[which] = resolve.fault_on(self, rules, agent)
            span = resolve.span(self, rules, start)
            link = OnLink(self._made[which], stream(rules.seed, agent, self.salt), span)
            self._links[rules, agent, start] = link
        return self._links[rules, agent, start]


def same_fault(entry: Entry, fault: AnyFault) -> bool:
    """Whether an entry has this fault; 5 rounds are not 5 seconds, though 5 == 5.0."""
    there, new = (
        vars(entry.fault) | {"apply_to": entry.apply_to},
        vars(fault) | {"apply_to": applies_to(fault)},
    )
    return there == new and all(type(there[name]) is type(value) for name, value in new.items())


@lru_cache(maxsize=4096)
def stream(seed: int, agent: int, salt: int) -> Stream:
    """Return the numbers of a fault on a link; kept, for their key takes longer to make than to use."""
    return Stream(seed, agent, salt)
