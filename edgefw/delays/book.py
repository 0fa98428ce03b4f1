"""What a learner and a report ask of a table of delays: who gets what when, and how late in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ArrivalBook:
    """The sets F_t^i of a table of delays (n, T): round s is in F_t for t = s + delay - 1 <= T.

    >>> book = ArrivalBook(np.array([[3, 2, 1], [1, 9, 1]]))
    >>> [book.at(t) for t in (1, 2, 3)]
    [{1: (1,)}, {}, {0: (1, 2, 3), 1: (3,)}]
    """

    def __init__(self, table: NDArray[np.int64]) -> None:
        if table.ndim != 2 or (table < 1).any():
            raise InputError(
                "a table of delays has a row per agent, a column per round, and no delay below 1"
            )
        self.n, self.T = table.shape
        arrival = _arrival(table)
        agent, column = np.nonzero(arrival <= self.T)  # by agent, then by round: a stable sort keeps that
        due = arrival[agent, column]
        order = np.argsort(due, kind="stable")
        self._agent, self._round = agent[order], column[order] + 1
        self._offsets = np.searchsorted(due[order], np.arange(1, self.T + 2))

    def at(self, t: int) -> dict[int, tuple[int, ...]]:
        """Return {agent: F_t^agent, sorted} of the agents to whom something arrives in round t, sorted."""
        if not 1 <= t <= self.T:
            raise IndexError(f"round {t} is not one of 1..{self.T}")
        here = slice(self._offsets[t - 1], self._offsets[t])
        agents, rounds = self._agent[here], self._round[here].tolist()
        starts = np.flatnonzero(np.diff(agents, prepend=-1)).tolist()
        stops = [*starts[1:], len(rounds)]
        return {int(agents[a]): tuple(rounds[a:b]) for a, b in zip(starts, stops, strict=False)}


def total_delay(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return B (n,): B_i = sum over s of min(delay, T - s + 1); T where nothing is delayed."""
    T = table.shape[1]
    total: NDArray[np.int64] = np.minimum(table, np.arange(T, 0, -1)).sum(axis=1)
    return total


def most_total_delay(d: int, T: int) -> int:
    """Return B of T rounds that are all late by d: the largest B of delays that are d at most.

    >>> most_total_delay(1, 1000), most_total_delay(501, 1000)
    (1000, 375750)
    """
    d = min(d, T)
    return d * T - d * (d - 1) // 2


def unused(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (n,) how many of each agent's feedbacks of rounds 1..T-1 no play of rounds 1..T has used.

    That of round T leads to no play. A dropped feedback is never used.
    """
    late: NDArray[np.int64] = (_arrival(table[:, :-1]) > table.shape[1] - 1).sum(axis=1)
    return late


def _arrival(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return s + delay - 1 (n, T)."""
    return table + np.arange(table.shape[1])
