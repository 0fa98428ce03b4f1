"""The observer's work that takes time, apart from its event loop: score complete rounds, write them down.

A `Recorder` lives on one worker. When `record` has returned, the rounds are in the database: they
outlive the process. So a score that an agent has been told is one that will not have to be told again.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import RecordError
from edgefw.records import DATABASE, WHOLE_EVERY, PlayRow, RunDatabase, RunFolder, environment, play_bytes
from edgefw.records.database import ENDED, NOT
from edgefw.records.sqlite_files import refused
from edgefw.services.observer.scoring import RoundScore, Scoreboard, score_round

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from edgefw.core.account import Entry
    from edgefw.scenario.setup import Setup
    from edgefw.services.observer.ledger import Ledger, Reported


class Recorder:
    """Scores and records the rounds of a run, a new one or one to go on with; all of it on one worker."""

    def __init__(self, setup: Setup, folder: RunFolder) -> None:
        self._setup, self._path = setup, folder.path / DATABASE
        self._database = RunDatabase(folder, setup.meta("up") | environment())
        self.before = self._database.before  # what was known of the run, if an observer before has begun it
        self.close = self._database.close

    def record(self, rounds: Sequence[Sequence[Reported]], meta: dict[str, str]) -> list[RoundScore]:
        """Score complete rounds and write them, all in one transaction."""
        scores = [score_round(self._setup, r[0].round, [report.point for report in r]) for r in rounds]
        rows = [row for reports, score in zip(rounds, scores, strict=True) for row in _rows(reports, score)]
        with self._writing():
            self._database.add(rows, meta)
        return scores

    def keep_account(self, entries: Sequence[Entry]) -> None:
        """Write entries of the broker's account."""
        with self._writing():
            self._database.add_account(entries)

    def note(self, key: str, value: str) -> None:
        """Write something that is to be known of the run."""
        with self._writing():
            self._database.add((), {key: value})

    def compare(self, losses: Sequence[float]) -> None:
        """Write what the fixed point that regret is measured against loses in every round."""
        with self._writing():
            self._database.compare(losses)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise refused(self._path, error) from None


def _rows(reports: Sequence[Reported], score: RoundScore) -> list[PlayRow]:
    whole = score.t % WHOLE_EVERY == 0
    return [
        PlayRow(
            report.round,
            report.agent,
            report.local_loss,
            float(score.global_loss[report.agent]),
            report.arrivals,
            report.outstanding,
            report.hash,
            play_bytes(report.point) if whole else None,
            report.late,
        )
        for report in reports
    ]


def restore(folder: RunFolder, meta: Mapping[str, str], ledger: Ledger, board: Scoreboard) -> None:
    """Take up what an observer before this one recorded."""
    rows = folder.rows()
    if len(rows) % ledger.n or [(r.round, r.agent) for r in rows] != [
        (t, i) for t in range(1, len(rows) // ledger.n + 1) for i in range(ledger.n)
    ]:
        raise RecordError("it has holes")
    ledger.restore([(row.round, row.agent, row.hash or "", row.arrivals) for row in rows])
    for t in range(0, len(rows), ledger.n):
        board.add(np.array([row.global_loss for row in rows[t : t + ledger.n]]))
    ledger.messages = json.loads(meta.get("messages", "[]")) or ledger.messages
    ledger.wire_bytes = json.loads(meta.get("wire_bytes", "[]")) or ledger.wire_bytes
    ledger.missed_ticks = sum(row.late is not None for row in rows)


def progress(ledger: Ledger, wall_seconds: float, now: int) -> dict[str, str]:
    """Return what the database says of the run beside its rows; `now` is in real nanoseconds."""
    return {
        "messages": json.dumps(ledger.messages),
        "wire_bytes": json.dumps(ledger.wire_bytes),
        "wall_seconds": repr(wall_seconds),
        "recorded": str(now),
    }


def away(meta: Mapping[str, str], now: int) -> float | None:
    """Return the seconds for which a run went on without its observer; None if it had ended, or not begun."""
    if meta.get(ENDED) != NOT or "recorded" not in meta:
        return None
    return max(0, now - int(meta["recorded"])) / 1e9
