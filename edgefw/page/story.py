"""The story of a run as arrays: what each agent lost and regrets, what is held of its feedback, how late.

One story for all: it is told what agents reported, round by round, and what the broker accounts for, entry by
entry; by the observer while they come, and from the run folder later. Pure, and in bounded memory.

Definitions, for agent i after round t:

- loss: the mean of F_s(x_s^i) over the rounds that a point stands for;
- regret: at least sum over s <= t of F_s(x_s^i) - F_s(x*), x* the best fixed point of the whole horizon;
- total delay B: sum over rounds u <= t of the feedbacks that were on their way in round u;
- queue: the largest number of feedbacks that had been submitted and had not come;
- delay: the longest delay, in rounds, of feedback that came (1 is none);
- requested and observed: the longest that the plan asked for, and that an agent saw, in seconds or rounds: as
  `Story.clock` is;
- cost: the sum over s <= t of F_s(x_s^i), less the same sum of the same run without delays, simulated;
- pace: the seconds that a round took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefw.core.account import Entry, Kind
from edgefw.delays.units import NEVER
from edgefw.page.curves import LAST, MOST, Curves
from edgefw.page.happenings import SECOND, Happenings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from edgefw.page.curves import Values
    from edgefw.scenario.model import Scenario

_BY_AGENT = {"cumulative": LAST, "total_delay": LAST, "prompt": LAST}
_BY_AGENT |= dict.fromkeys(("queue", "delay", "requested", "observed"), MOST)
_NETWORK = {"seconds": MOST, "total_loss": LAST}
NUMBERS = 48_000  # of one curve of all agents: points times agents
POINTS = (200, 400)  # of a curve, at least and at most
NOISE = 1e-6  # of a sum of losses: what plays in single precision, summed up in another order, may differ by


class Columns(NamedTuple):
    """The curves of a story from one point on: (points,), and by agent (points, n). NaN: not known."""

    first: int  # the point that they begin with
    rounds: NDArray[np.int64]
    seconds: Values
    pace: Values
    network_loss: Values  # the mean of max_i F_s(x_s^i)
    loss: Values
    regret: Values
    ratio: Values  # regret / sqrt(B)
    total_delay: Values
    queue: Values
    delay: Values
    requested: Values
    observed: Values
    cost: Values  # of delays, so far: what it lost more than in the run without them
    network_cost: Values  # ... of the network: of its worst agent, with and without them


class Story:
    """The story of one run of a scenario; `accounted` if a broker gives an account of it."""

    def __init__(self, scenario: Scenario, *, accounted: bool = True) -> None:
        n = scenario.network.agents
        points = 2 * (int(np.clip(NUMBERS // n, *POINTS)) // 2)
        self.n, self.accounted = n, accounted
        self.clock = scenario.clock if accounted else "rounds"  # a simulated run knows no time
        self._curves = Curves(
            {name: (how, n) for name, how in _BY_AGENT.items()}
            | {name: (how, 1) for name, how in _NETWORK.items()},
            points,
        )
        self.happenings = Happenings(scenario)
        self.rounds = 0  # that all agents have played
        self._cumulative, self._total_delay, self._total_loss = np.zeros(n), np.zeros(n), 0.0
        self._open = np.zeros(n)  # feedbacks on their way
        self.prompted, self._prompt = 0, np.zeros(n)  # rounds of the run without delays; their losses' sums
        self._fixed: Values | None = None  # sums of F_s(x*) over s <= t
        self._compared = 0  # the version in which x* came
        self._accepted: dict[tuple[int, int], Entry] = {}  # feedback that has not come, by agent and round
        self._released: dict[tuple[int, int], Entry] = {}  # ... of what was sent to its agent, the last time
        self._early: dict[tuple[int, int], int] = {}  # when it came, of what the account does not know yet

    @property
    def compared(self) -> bool:
        """Whether there is a fixed point to measure regret against."""
        return self._fixed is not None

    def take_round(
        self, losses: Values, arrivals: Sequence[Sequence[int]], outstanding: Sequence[int] | Values
    ) -> None:
        """Take the next round that all have played: F_t(x_t^i), F_{t-1}^i, what is on its way, (n,) each."""
        t = self.rounds + 1
        self._cumulative += losses
        self._total_loss += float(losses.max())
        self._open += 1.0 - np.array([len(each) for each in arrivals])
        self._total_delay += self._open
        late = np.array([t - min(each) if each else np.nan for each in arrivals])
        every = slice(None)
        self._curves.note("cumulative", t, every, self._cumulative)
        self._curves.note("total_delay", t, every, self._total_delay)
        self._curves.note("queue", t, every, np.asarray(outstanding, dtype=np.float64))
        self._curves.note("delay", t, every, late)
        self._curves.note("total_loss", t, 0, self._total_loss)
        if self.clock == "rounds":
            self._curves.note("observed", t, every, late)
            if self.accounted:
                self._ask_for(t, arrivals)
        self.rounds = t

    def take_planned(self, table: NDArray[np.int64], t: int, arrivals: Sequence[Sequence[int]]) -> None:
        """Take what the plan (n, T) asked for, of a run that has no account."""
        for i, each in enumerate(arrivals):
            asked = [int(table[i, s - 1]) for s in each]
            if asked and max(asked) < NEVER:
                self._curves.note("requested", t, i, float(max(asked)))

    def take_account(self, entries: Iterable[Entry]) -> None:
        """Take the next entries of the broker's account."""
        for entry in entries:
            self.happenings.take(entry)
            self._take_entry(entry)

    def compare_with(self, losses: Values) -> None:
        """Measure regret against a fixed point from now on, by its F_t (rounds,)."""
        self._fixed = np.concatenate([[0.0], np.cumsum(losses)])
        self._compared += 1

    def take_prompt(self, losses: Values) -> None:
        """Take the next rounds of the same run without delays, F_t(x_t^i) (rounds, n), which are played."""
        for t, each in enumerate(losses, start=self.prompted + 1):
            self._prompt += each
            self._curves.note("prompt", t, slice(None), self._prompt)
        self.prompted += len(losses)

    def columns(self, first: int = 0) -> Columns:
        """Return all curves from a point on."""
        rounds = self._curves.rounds(self.rounds)
        before = np.concatenate([[0], rounds[:-1]])
        length = (rounds - before).astype(np.float64)
        cumulative, total = (
            self._curves.of("cumulative", self.rounds),
            self._curves.of("total_delay", self.rounds),
        )
        regret = cumulative - self._fixed_at(rounds)[:, None]
        seconds, network = (self._curves.of(name, self.rounds)[:, 0] for name in _NETWORK)
        pace = np.diff(seconds, prepend=np.nan) / length
        if len(pace) and rounds[0] > 1:
            pace[0] = seconds[0] / (rounds[0] - 1)
        by_agent = (
            self._curves.of(name, self.rounds) for name in ("queue", "delay", "requested", "observed")
        )
        prompt = np.where((rounds <= self.prompted)[:, None], self._curves.of("prompt", self.rounds), np.nan)
        found = (
            rounds,
            seconds,
            pace,
            np.diff(network, prepend=0.0) / length,
            np.diff(cumulative, axis=0, prepend=0.0) / length[:, None],
            regret,
            regret / np.sqrt(total),
            total,
            *by_agent,
            _apart(cumulative, prompt),
            _apart(cumulative.max(axis=1, initial=-np.inf), prompt.max(axis=1, initial=-np.inf)),
        )
        return Columns(first, *(column[first:] for column in found))

    def first_changed(self, since: Bookmark) -> int:
        """Return the first point that is another one than at a mark."""
        if since.compared != self._compared:
            return 0
        return min(self._curves.first_changed(since.curves), self._curves.count(self.rounds))

    def mark(self) -> Bookmark:
        """Return how far the story is."""
        return Bookmark(self._curves.version, self._compared, self.happenings.count)

    def _fixed_at(self, rounds: NDArray[np.int64]) -> Values:
        if self._fixed is None:
            return np.full(len(rounds), np.nan)
        known = rounds < len(self._fixed)
        return np.where(known, self._fixed[np.where(known, rounds, 0)], np.nan)

    def _ask_for(self, t: int, arrivals: Sequence[Sequence[int]]) -> None:
        """Note what was asked for of feedback that has come (rounds clock)."""
        for i, each in enumerate(arrivals):
            for s in each:
                accepted = self._accepted.pop((i, s), None)
                if accepted is None:
                    self._early[i, s] = t
                else:
                    self._note_asked(accepted, t)

    def _note_asked(self, accepted: Entry, t: int) -> None:
        if accepted.due is not None:
            self._curves.note("requested", t, accepted.agent, float(accepted.due - accepted.round + 1))

    def _take_entry(self, entry: Entry) -> None:
        key = entry.agent, entry.round
        if entry.kind is Kind.ACCEPTED:
            self._take_accepted(entry)
        elif entry.kind in {Kind.DROPPED, Kind.WITHDRAWN}:
            self._accepted.pop(key, None)
        elif entry.kind is Kind.RELEASED:
            self._released[key] = entry
        elif entry.kind is Kind.ACKNOWLEDGED:
            self._take_acknowledged(entry)

    def _take_accepted(self, entry: Entry) -> None:
        key = entry.agent, entry.round
        seconds = self.happenings.seconds(entry.moment)
        if seconds is not None:
            self._curves.note("seconds", entry.round, 0, seconds)
        if key in self._early:
            self._note_asked(entry, self._early.pop(key))
        else:
            self._accepted[key] = entry

    def _take_acknowledged(self, entry: Entry) -> None:
        """Note what was asked for and what came of it, in the round under way (wall clock).

        An agent acknowledges when feedback is in a sweep; it had it when the broker sent it last.
        """
        key = entry.agent, entry.round
        accepted, released = self._accepted.pop(key, None), self._released.pop(key, None)
        if accepted is None or released is None or self.clock == "rounds":
            return
        t = self.happenings.round_of(entry.agent)
        self._curves.note("observed", t, entry.agent, (released.moment - accepted.moment) / SECOND)
        if released.due is not None:
            asked = max((released.due - accepted.moment) / SECOND, 0.0)
            self._curves.note("requested", t, entry.agent, asked)


def _apart(late: Values, prompt: Values) -> Values:
    """Return how far sums of losses are apart; those of the same plays not at all."""
    apart = late - prompt
    return np.where(np.abs(apart) <= NOISE * np.abs(prompt), 0.0, apart)


class Bookmark(NamedTuple):
    """How far a story was."""

    curves: int = -1
    compared: int = -1
    events: int = 0
