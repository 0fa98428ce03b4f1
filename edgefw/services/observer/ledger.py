"""Who has reported which round: order, repeats, and the rounds that are complete. Pure.

An agent reports its rounds one after the other. After it, or the observer, was away it may report again what
has been recorded already: the same play is taken for what it is, another one is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgefw.delays.book import total_delay, unused
from edgefw.delays.units import NEVER
from edgefw.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from edgefw.problem.feasible.base import Real

_MEMORY = 256_000_000  # bytes that plays may take which wait for other agents' plays
_LEAST_AHEAD = 16  # rounds: neighbours are one exchange apart, so agents are never far apart for long


@dataclass(frozen=True, eq=False, slots=True)
class Reported:
    """One agent's play, checked; `arrivals` is F_{t-1}."""

    agent: int
    round: int
    point: Real
    hash: str
    local_loss: float
    arrivals: tuple[int, ...]
    outstanding: int
    messages: int  # sent to peers, so far
    wire_bytes: int
    late: float | None = None  # seconds that the round began after its tick; None where it has not missed it


class Ledger:
    """The reports of n agents over `rounds` rounds, plays of `size` bytes."""

    def __init__(self, n: int, rounds: int, size: int) -> None:
        self.n, self.rounds = n, rounds
        self.messages, self.wire_bytes = [0] * n, [0] * n
        self.missed_ticks = 0  # in complete rounds
        self._most_ahead = max(_LEAST_AHEAD, _MEMORY // (n * size))
        self._hashes: list[list[str]] = [[] for _ in range(n)]  # by agent, of rounds 1, 2, ...
        self._waiting: dict[int, dict[int, Reported]] = {}  # by round, then by agent
        self._delays = np.full((n, rounds), NEVER, dtype=np.int64)
        self.complete = 0  # the last round that all agents have reported

    def take(self, report: Reported) -> bool:
        """Take a report; say whether it is new. One that cannot be used raises and changes nothing."""
        known = self._hashes[report.agent]
        self._check_round(report, len(known))
        if report.round <= len(known):
            self._check_same(report, known[report.round - 1])
            return False
        known.append(report.hash)
        self._waiting.setdefault(report.round, {})[report.agent] = report
        self.messages[report.agent], self.wire_bytes[report.agent] = report.messages, report.wire_bytes
        return True

    def ready(self) -> list[list[Reported]]:
        """Take out the rounds that have become complete, in order; each has one report an agent, in order."""
        rounds = []
        while len(self._waiting.get(self.complete + 1, ())) == self.n:
            self.complete += 1
            reports = self._waiting.pop(self.complete)
            rounds.append([reports[i] for i in range(self.n)])
            for report in rounds[-1]:
                self._note_arrivals(report.agent, report.round, report.arrivals)
                self.missed_ticks += report.late is not None
        return rounds

    def restore(self, rows: Iterable[tuple[int, int, str, Sequence[int]]]) -> None:
        """Start from rounds that were recorded before: (round, agent, hash, arrivals), by round."""
        for t, agent, hash_, arrivals in rows:
            self._hashes[agent].append(hash_)
            self._note_arrivals(agent, t, arrivals)
            self.complete = t

    def delays(self) -> NDArray[np.int64]:
        """Return the delays (n, complete rounds) that the arrivals show; what has not come has none."""
        return self._delays[:, : self.complete]

    def waiting_for(self) -> list[int]:
        """Return the agents without whose reports the next round is not complete."""
        there = self._waiting.get(self.complete + 1, {})
        return [] if self.complete == self.rounds else [i for i in range(self.n) if i not in there]

    def _check_round(self, report: Reported, known: int) -> None:
        if not 1 <= report.round <= min(known + 1, self.rounds):
            expected = f"round {known + 1}" if known < self.rounds else f"none after round {self.rounds}"
            raise WireError(
                "order", f"agent {report.agent} reported round {report.round}, expected {expected}"
            )
        if report.round > self.complete + self._most_ahead:
            raise WireError(
                "ahead",
                f"agent {report.agent} reported round {report.round} while agents {self.waiting_for()[:8]} "
                f"have not reported round {self.complete + 1}: at most {self._most_ahead} rounds are kept",
            )

    def _check_same(self, report: Reported, known: str) -> None:
        if report.hash != known:
            raise WireError(
                "conflict",
                f"agent {report.agent} reported another play of round {report.round} before: "
                f"its hash was {known}, now it is {report.hash}",
            )

    def _note_arrivals(self, agent: int, t: int, arrivals: Sequence[int]) -> None:
        """Note F_{t-1}: the feedback of round s has come with delay (t - 1) - s + 1."""
        for s in arrivals:
            self._delays[agent, s - 1] = t - s


def lateness(delays: NDArray[np.int64]) -> tuple[list[int], int]:
    """Return B_i of every agent, and how many feedbacks no play has used.

    `delays` (n, rounds) is what the sweeps have seen: F_1..F_{T-1}. B needs no more, for the feedback of
    round s counts T - s + 1 whether it came with F_T or not at all.
    """
    return total_delay(delays).tolist(), int(unused(delays).sum())
