"""A forger who knows the algorithm: what follows from a false arrival is made to follow."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from edgefw.core.account import Kind
from edgefw.core.regret import Comparator
from edgefw.records import PlayRow, RunFolder, Summary, content_hash, score
from edgefw.services.observer.ledger import Ledger, lateness
from edgefw.transport.codec import encode_feedback
from edgefw.verification.record import read
from edgefw.verification.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from edgefw.core.messages import Feedback

Arrivals = dict[tuple[int, int], tuple[int, ...]]
"""F_{t-1} by round t and agent."""


_HASH = "UPDATE account SET hash = ?, norm = ? WHERE kind = ? AND agent = ? AND round = ?"
_PLAY = """
UPDATE plays SET local_loss = ?, global_loss = ?, arrivals = ?, outstanding = ?, hash = ?
WHERE round = ? AND agent = ?
"""


class Forger:
    """Works on a copy of a run."""

    def __init__(self, honest: RunFolder, path: Path) -> None:
        shutil.copytree(honest.path, path)
        self.folder = RunFolder(path)

    def sql(self, statement: str, *many: Sequence[object]) -> None:
        """Change the database, once or once for each of many; something has to change."""
        with closing(sqlite3.connect(self.folder.path / "run.sqlite")) as database, database:
            assert database.executemany(statement, many or [()]).rowcount > 0

    def summary(self, **changes: object) -> dict[str, Any]:
        """Change the summary; return what it says then."""
        path = self.folder.path / "summary.json"
        said: dict[str, Any] = json.loads(path.read_text()) | changes
        path.write_text(json.dumps(said))
        return said

    def restart_at_the_end(self) -> None:
        """Let the account say that the broker was started again when all was over."""
        last = self.folder.account()[-1]
        plan = max((entry for entry in self.folder.account() if entry.plan), key=lambda entry: entry.version)
        self.sql(
            "INSERT INTO account (moment, kind, agent, round, version, plan) VALUES (?, ?, 0, 0, ?, ?)",
            (last.moment + 1, int(Kind.BEGUN), plan.version, None),
            (last.moment + 2, int(Kind.PLAN), plan.version, plan.plan),
        )

    def arrivals(self, false: Callable[[Arrivals], Arrivals], *, payloads: bool = False) -> None:
        """Let other feedback arrive, play it, and rewrite whatever follows: also what the broker hashed."""
        recorded = read(self.folder)
        told = false({(row.round, row.agent): row.arrivals for rows in recorded.rounds for row in rows})
        hashes: dict[tuple[int, int], tuple[str, float]] = {}

        def observed(agent: int, feedback: Feedback, norm: float) -> None:
            hashes[agent, feedback.round] = content_hash(encode_feedback(feedback)), norm

        with threadpool_limits(1):
            replay, forged = Replay(recorded.setup, observed), []
            for rows in recorded.rounds:
                claimed = [replace(row, arrivals=told[row.round, row.agent]) for row in rows]
                forged.append(replay.round(claimed))
        self._rewrite_rows(_with_outstanding(forged))
        self._rewrite_summary(forged)
        if payloads:
            self.sql(_HASH, *((*told, int(Kind.ACCEPTED), *key) for key, told in hashes.items()))

    def _rewrite_rows(self, rounds: Sequence[Sequence[PlayRow]]) -> None:
        told = [
            (
                *(row.local_loss, row.global_loss, json.dumps(row.arrivals), row.outstanding, row.hash),
                *(row.round, row.agent),
            )
            for rows in rounds
            for row in rows
        ]
        self.sql(_PLAY, *told)

    def _rewrite_summary(self, rounds: Sequence[Sequence[PlayRow]]) -> None:
        path = self.folder.path / "summary.json"
        said = json.loads(path.read_text())
        losses = np.array([[row.global_loss for row in rows] for rows in rounds])
        found = None
        if said["comparator_loss"] is not None:
            found = Comparator(said["comparator_loss"], said["comparator_gap"])
        ledger = Ledger(len(rounds[0]), len(rounds), 1)
        ledger.restore([(row.round, row.agent, "", row.arrivals) for rows in rounds for row in rows])
        total_delay, unused = lateness(ledger.delays())
        said |= score(losses, total_delay, found) | {"unused": unused}
        path.write_text(Summary(**said).to_json())


def _with_outstanding(rounds: Sequence[Sequence[PlayRow]]) -> list[list[PlayRow]]:
    used: dict[int, int] = {}
    found = []
    for rows in rounds:
        for row in rows:
            used[row.agent] = used.get(row.agent, 0) + len(row.arrivals)
        found.append([replace(row, outstanding=row.round - used[row.agent]) for row in rows])
    return found


def at_once(arrivals: Arrivals) -> Arrivals:
    """Let every feedback be used by the very next play."""
    return {(t, i): (t - 1,) if t > 1 else () for t, i in arrivals}


def never(arrivals: Arrivals) -> Arrivals:
    """Let no feedback ever arrive."""
    return dict.fromkeys(arrivals, ())


def later(rounds: int, agent: int) -> Callable[[Arrivals], Arrivals]:
    """Let an agent's feedback arrive so many rounds later."""

    def shifted(arrivals: Arrivals) -> Arrivals:
        mine = {key: arrivals.get((key[0] - rounds, agent), ()) for key in arrivals if key[1] == agent}
        return arrivals | mine

    return shifted


def earlier(rounds: int, agent: int) -> Callable[[Arrivals], Arrivals]:
    """Let an agent's feedback arrive so many rounds earlier, where that can be."""

    def shifted(arrivals: Arrivals) -> Arrivals:
        moved: dict[tuple[int, int], list[int]] = {key: [] for key in arrivals}
        for (t, i), came in arrivals.items():
            for s in came:
                moved[max(t - rounds, s + 1) if i == agent else t, i].append(s)
        return {key: tuple(sorted(came)) for key, came in moved.items()}

    return shifted
