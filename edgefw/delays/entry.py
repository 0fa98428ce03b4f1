"""A named fault of a delay plan: on which link it is, when it is in force there, and since when.

Under the rounds clock an entry has a window in rounds. By the wall clock it has a span of time; but one of
the scenario that begins with a round (`at: 200`) has a window: it is in force for messages of those rounds.
Where time and rounds are mixed, the beginning decides and the pace turns the duration into its unit.

What was posted counts from then. What was not counts from the run's start.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from edgefw.delays.draws import Draws
from edgefw.delays.fault import Axis, Fault, Rules, Window
from edgefw.delays.moments import moment
from edgefw.delays.on_link import ALWAYS, OnLink, Span
from edgefw.delays.units import in_rounds, in_seconds
from edgefw.errors import InputError

if TYPE_CHECKING:
    from edgefw.delays.link_id import LinkId

Key = tuple[int | None, str]

NOT_YET: Span = (math.inf, math.inf)
"""The span of what counts from the run's start before there is one."""


class Moment(NamedTuple):
    """Now, in both clocks' terms: `rounds` are the last submitted ones of every link."""

    now: float
    rounds: tuple[int, ...]


@dataclass(frozen=True)
class PlanEntry:
    """A named fault on the link of `agent` (None: on all of them), with the salt of its draws.

    `since` (wall clock) or `since_rounds` (rounds clock) say when it was posted; without them it is counted
    from the run's start. Its name and agents are the entry's own: the fault says neither.
    """

    agent: int | None  # the number of the link
    name: str
    fault: Fault
    salt: int
    since: float | None = None
    since_rounds: tuple[int, ...] | None = None
    _links: dict[Any, OnLink] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def key(self) -> Key:
        """What tells it from all others in a plan."""
        return self.agent, self.name

    @cached_property
    def written(self) -> dict[str, Any]:
        """Its fault as JSON has it; made once, for whoever keeps it, shows it or says it in words."""
        return self.fault.model_dump(mode="json", exclude_none=True)

    @cached_property
    def text(self) -> str:
        """Its fault as JSON; every version of the plan is kept whole."""
        return json.dumps(self.written, separators=(",", ":"))

    def concerns(self, agent: int) -> bool:
        """Whether it is on this link."""
        return self.agent is None or self.agent == agent

    def check(self, rules: Rules) -> None:
        """Refuse rounds that have to be found on the clock, and times in rounds, where no pace says how."""
        if rules.clock == "rounds" or rules.round_seconds is not None:
            return
        window = self.window(rules, self.agent or 0)
        if self.fault.climbs and window not in {None, (1, None)}:
            self._check_pace(rules)
        self.fault.fits(Axis(in_rounds=False, start=0.0, end=math.inf, round_seconds=None))
        self.span(rules, 0.0)

    def on_link(self, rules: Rules, agent: int, start: float | None) -> OnLink:
        """Return it as it is on a link, in a run that began at `start`."""
        # Once for all versions that the entry is in: the same is the same object.
        if (rules, agent, start) not in self._links:
            made = self._made(rules, agent, self.span(rules, start), self.window(rules, agent))
            self._links[rules, agent, start] = made
        return self._links[rules, agent, start]

    def in_rounds(self, rules: Rules, agent: int) -> OnLink:
        """Return it on a link where everything is counted in rounds: the pace turns times into rounds."""
        if rules.clock == "wall" and rules.round_seconds is None and self.fault.counts_time:
            raise InputError(
                f"{self.name} counts in time, which needs rounds of a known length: "
                "set pace=250ms, say, or clock=rounds with delays in rounds"
            )
        return self._made(rules, agent, ALWAYS, window_of(self.fault, rules.round_seconds))

    def _made(self, rules: Rules, agent: int, span: Span, window: Window | None) -> OnLink:
        return OnLink(self.fault, draws_of(rules.seed, rules.links[agent], self.salt), rules, span, window)

    def counts_rounds(self, rules: Rules) -> bool:
        """Whether it is in force for some rounds, not for a span of time."""
        if rules.clock == "rounds":
            return True
        in_time = self.since is not None or self.fault.about_releases
        return not in_time and isinstance(self._first[1], int)

    def window(self, rules: Rules, agent: int) -> Window | None:
        """Return the rounds of a link's messages for which it is in force, None if it has no window."""
        if not self.counts_rounds(rules):
            return None
        base = 0 if self.since_rounds is None else self.since_rounds[agent]
        found = window_of(self.fault, rules.round_seconds, base)
        return (base + 1, None) if found is None and base else found

    def span(self, rules: Rules, start: float | None) -> Span:
        """Return the moments of the clock between which it is in force; `start` is the run's."""
        fault, zero = self.fault, start if self.since is None else self.since
        if zero is None:
            return NOT_YET
        if self.counts_rounds(rules):
            return zero, math.inf
        length = rules.round_seconds
        if self.since is None and isinstance(self._first[1], int):
            # A blackout in rounds, which is about releases: round t begins after t - 1 rounds.
            self._check_pace(rules)
            first, stop = window_of(fault, length) or (1, None)
            pace = length or 0.0
            end = math.inf if stop is None else moment(zero + (stop - 1) * pace)
            return moment(zero + (first - 1) * pace), end
        begin = moment(zero + (0.0 if fault.at is None else in_seconds("at", fault.at, length)))
        if fault.duration is None:
            return begin, math.inf
        return begin, moment(begin + in_seconds("duration", fault.duration, length))

    def _check_pace(self, rules: Rules) -> None:
        """Refuse rounds that cannot be found on the clock."""
        name, amount = self._first
        in_seconds(name, amount or 0, rules.round_seconds)

    @property
    def _first(self) -> tuple[str, Any]:
        """The field, and its value, that decides in which unit it begins and ends."""
        return ("duration", self.fault.duration) if self.fault.at is None else ("at", self.fault.at)


def same_fault(entry: PlanEntry, fault: Fault) -> bool:
    """Whether an entry has this fault; 5 rounds are not 5 seconds, though 5 == 5.0."""
    there, new = _said(entry.fault), _said(fault)
    return there == new and all(type(there[name]) is type(value) for name, value in new.items())


def _said(fault: Fault) -> dict[str, Any]:
    """Return what the user wrote of a fault, without what has been worked out from it."""
    return {name: getattr(fault, name) for name in type(fault).model_fields} | {"apply_to": fault.acts_on}


def window_of(fault: Fault, round_seconds: float | None, base: int = 0) -> Window | None:
    """Return the rounds [start, stop) in which a fault is in force, counted from `base`; None = always.

    A time is the round under way at that time: round t begins at (t-1) times the length of a round.
    """
    if fault.at is None and fault.duration is None:
        return None
    start = base + _begin(fault, round_seconds)
    if fault.duration is None:
        return start, None
    return start, start + max(1, in_rounds("duration", fault.duration, round_seconds))


def first_round(fault: Fault, round_seconds: float | None) -> int | None:
    """Return the round in which a fault of a scenario begins; None where no pace says which that is."""
    if isinstance(fault.at, float) and round_seconds is None:
        return None
    return _begin(fault, round_seconds)


def _begin(fault: Fault, round_seconds: float | None) -> int:
    at = 1 if fault.at is None else fault.at
    return max(1, at) if isinstance(at, int) else 1 + in_rounds("at", at, round_seconds)


@lru_cache(maxsize=4096)
def draws_of(seed: int, link: LinkId, salt: int) -> Draws:
    """Return the numbers of a fault on a link; kept, for their key takes longer to make than to use."""
    return Draws(seed, link.key, salt)
