"""What happened to a network, in words: every change of the delay plan, every fault of the network. Pure.

All of it is read from the broker's account, so a run under way and its record tell the same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.core.account import BROKER, Entry, Kind
from edgefw.delays.body import fault_body
from edgefw.delays.changes import changes_in_words
from edgefw.delays.entry import Moment, window_of
from edgefw.delays.plan import plan_from_json
from edgefw.delays.words import agents_in_words, fault_in_words, in_a_line
from edgefw.scenario.plan import delay_plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgefw.delays.entry import PlanEntry
    from edgefw.delays.fault import Rules
    from edgefw.scenario.model import Scenario

SECOND = 10**9  # nanoseconds
STALL = 3.0  # seconds without a feedback of anybody that are worth a word, and
STALL_ROUNDS = 5.0  # ... as many lengths of a round
MOST_TOLD = 500  # the oldest are forgotten: a plan may be changed all day


@dataclass(frozen=True)
class Happening:
    """Something that happened: in which round, how many seconds after the start (None: nobody knows)."""

    round: int
    seconds: float | None
    kind: str  # plan: somebody changed it, or it changed by itself; network: something broke, or stood still
    text: str
    agents: tuple[int, ...] | None = None  # whom it is about, None: all of them


@dataclass(frozen=True)
class Force:
    """What is in force from a round on: faults in words by agent (None: all), links that hold everything."""

    round: int
    version: int
    faults: tuple[tuple[int | None, str], ...]
    disabled: tuple[int, ...]


class Happenings:
    """Takes the account of a run and says what happened. `start` is the moment of the first feedback."""

    def __init__(self, scenario: Scenario) -> None:
        self._plan = delay_plan(scenario)
        self._pace = self._plan.rules.round_seconds or 0.0
        self._rounds = [0] * self._plan.rules.agents  # the last one of each link that was accepted
        self.start: int | None = None
        self._latest = 0  # the moment of the last acceptance
        self._begun = False
        self._told: set[tuple[int | None, str]] = set()  # faults that have begun since they were planned
        self.count = 0  # of all events, those that are forgotten too
        self.events: deque[Happening] = deque(maxlen=MOST_TOLD)
        self.forces: deque[Force] = deque([self._force(0)], maxlen=MOST_TOLD)

    @property
    def round(self) -> int:
        """The last round of which somebody's feedback was accepted."""
        return max(self._rounds)

    def round_of(self, agent: int) -> int:
        """Return the last round of an agent that was accepted, at least 1."""
        return max(self._rounds[agent], 1)

    def seconds(self, moment: int) -> float | None:
        """Return a moment in seconds from the run's start."""
        return None if self.start is None else (moment - self.start) / SECOND

    def take(self, entry: Entry) -> None:
        """Take the next entry of the account."""
        if entry.kind is Kind.ACCEPTED:
            self._take_accepted(entry)
        elif entry.kind is Kind.PLAN:
            self._take_plan(entry)
        elif entry.kind is Kind.BEGUN:
            if self._begun:
                self._tell(entry.moment, "network", "the broker was started again")
            self._begun = True
        elif entry.kind is Kind.LOST:
            self._tell(entry.moment, "network", "the broker's account has a hole from here on")

    def foretell(self, rounds: int) -> None:
        """Tell what the scenario's own plan does in these rounds, of a run that has no account."""
        for entry, agents in self._plan.shared:
            first, stop = _window(entry, self._plan.rules) or (1, None)
            if 1 < first <= rounds:
                self._add(Happening(first, None, "plan", *fault_in_words(entry, agents, "begins")))
            if stop is not None and stop <= rounds:
                self._add(Happening(stop, None, "plan", *fault_in_words(entry, agents, "is over")))
        self.events = deque(sorted(self.events, key=lambda event: event.round), maxlen=MOST_TOLD)
        for t in sorted({event.round for event in self.events}):
            there = (entry for entry in self._plan.entries if _lasts(entry, self._plan.rules, t))
            self.forces.append(self._force(t, there))

    def _take_accepted(self, entry: Entry) -> None:
        if self.start is None:
            self.start = entry.moment
        elif (silence := (entry.moment - self._latest) / SECOND) > self._longest_round():
            behind = [i for i, t in enumerate(self._rounds) if t == min(self._rounds)]
            whom = f", for {agents_in_words(behind)}" if len(behind) < len(self._rounds) else ""
            text = f"the network stood still for {silence:.1f} s{whom}"
            self._tell(entry.moment, "network", text, tuple(behind) if whom else None)
        self._latest = max(self._latest, entry.moment)
        before, self._rounds[entry.agent] = self.round, max(self._rounds[entry.agent], entry.round)
        if self.round > before:
            self._begin(entry.moment)

    def _longest_round(self) -> float:
        """Return how long nobody's feedback may be missing before something is wrong."""
        played = max(self.round - 1, 1)
        usual = (self._latest - (self.start or 0)) / SECOND / played
        return max(STALL, STALL_ROUNDS * self._pace, STALL_ROUNDS * usual)

    def _begin(self, moment: int) -> None:
        """Tell which planned faults (`at`) have begun by now."""
        rules = self._plan.rules
        for entry, agents in self._plan.shared:
            if entry.fault.at is None or entry.key in self._told:
                continue
            window = entry.window(rules, entry.agent or 0)
            now = self.seconds(moment) or 0.0
            begun = window[0] <= self.round if window else entry.span(rules, 0.0)[0] <= now
            if begun:
                self._told |= {(agent, entry.name) for agent in agents or (None,)}
                self._tell(moment, "plan", *fault_in_words(entry, agents, "begins"))
                self.forces.append(self._force(self.round))

    def _take_plan(self, entry: Entry) -> None:
        zero = entry.moment if self.start is None else self.start
        plan = plan_from_json(entry.plan or "", self._plan.rules, lambda real: (real - zero) / SECOND)
        before, self._plan = self._plan, plan
        now = Moment((entry.moment - zero) / SECOND, tuple(self._rounds))
        by = "" if entry.who in {None, BROKER} else f", by {entry.who}"
        for said in changes_in_words(before, plan, now, 0.0):
            self._tell(entry.moment, "plan", f"{said.text}{by}", said.agents)
        self._told &= {each.key for each in plan.entries}
        if plan.version != self.forces[-1].version:
            self.forces.append(self._force(self.round))

    def _force(self, round_: int, entries: Iterable[PlanEntry] | None = None) -> Force:
        begun = (each for each in self._plan.entries if each.fault.at is None or each.key in self._told)
        there = begun if entries is None else entries
        faults = tuple((entry.agent, in_a_line(fault_body(entry, 1))) for entry in there)
        return Force(round_, self._plan.version, faults, tuple(sorted(self._plan.disabled)))

    def _tell(self, moment: int, kind: str, text: str, agents: tuple[int, ...] | None = None) -> None:
        self._add(Happening(self.round, self.seconds(moment), kind, text, agents))

    def _add(self, event: Happening) -> None:
        self.events.append(event)
        self.count += 1


def _window(entry: PlanEntry, rules: Rules) -> tuple[int, int | None] | None:
    return window_of(entry.fault, rules.round_seconds)


def _lasts(entry: PlanEntry, rules: Rules, t: int) -> bool:
    """Whether a fault is in force in a round, where all is counted in rounds."""
    first, stop = _window(entry, rules) or (1, None)
    return first <= t and (stop is None or t < stop)
