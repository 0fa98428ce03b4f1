"""The one row schema of a run, simulated or emulated: the run folder, its database and its summary."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core.regret import Comparator, cumulative_loss, network_regret, total_loss
from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

DATABASE, SUMMARY, SCENARIO = "run.sqlite", "summary.json", "scenario.yaml"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE plays (
  round INTEGER NOT NULL,
  agent INTEGER NOT NULL,
  local_loss REAL NOT NULL,   -- f_t^i(x_t^i)
  global_loss REAL NOT NULL,  -- F_t(x_t^i)
  arrivals TEXT NOT NULL,     -- the rounds in F_t^i, as JSON
  outstanding INTEGER NOT NULL,
  PRIMARY KEY (round, agent)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class PlayRow:
    """One agent's round."""

    round: int
    agent: int
    local_loss: float
    global_loss: float
    arrivals: tuple[int, ...]
    outstanding: int  # feedbacks on their way when the round was over


@dataclass(frozen=True)
class AgentSummary:
    """What a run was for one agent; `regret` is None where no comparator was asked for."""

    agent: int
    cumulative_loss: float
    regret: float | None
    total_delay: int


@dataclass(frozen=True)
class Summary:
    """What a run was: the content of summary.json. Regret lies in [regret, regret + comparator_gap]."""

    name: str
    digest: str
    mode: str
    algorithm: str
    seed: int
    data: str
    agents: int
    rounds: int
    total_loss: float
    network_regret: float | None
    comparator_loss: float | None
    comparator_gap: float | None
    total_delay: float  # B, the mean over agents
    pending: int  # feedbacks that had not come when the run was over
    messages: int
    bytes: int
    wall_seconds: float
    per_agent: tuple[AgentSummary, ...]

    def to_json(self) -> str:
        """Return the summary as it stands in the run folder."""
        return json.dumps(asdict(self), indent=2) + "\n"


def score(
    losses: NDArray[np.float64], total_delay: Sequence[int], comparator: Comparator | None
) -> dict[str, Any]:
    """Return the fields of a summary that follow from the global losses (rounds, n)."""
    cumulative = cumulative_loss(losses)
    regrets = [None if comparator is None else float(c - comparator.value) for c in cumulative]
    per_agent = zip(range(len(cumulative)), cumulative, regrets, total_delay, strict=True)
    return {
        "total_loss": total_loss(losses),
        "network_regret": None if comparator is None else network_regret(losses, comparator),
        "comparator_loss": None if comparator is None else comparator.value,
        "comparator_gap": None if comparator is None else comparator.gap,
        "total_delay": float(np.mean(total_delay)),
        "per_agent": tuple(AgentSummary(i, float(c), r, int(b)) for i, c, r, b in per_agent),
    }


class RunFolder:
    """A folder that holds one run. Everything in it is written whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, scenario_yaml: str) -> RunFolder:
        """Make the folder; one that holds a run already is left alone."""
        if (path / SCENARIO).exists():
            raise InputError(f"{path} holds a run already: give another --out, or remove it")
        try:
            path.mkdir(parents=True, exist_ok=True)
            _write(path / SCENARIO, scenario_yaml)
        except OSError as error:
            raise InputError(f"cannot write to {path}: {error.strerror}; give another --out") from None
        return cls(path)

    def write_rows(self, rows: Iterable[PlayRow], meta: Mapping[str, str]) -> None:
        """Write the run database."""
        partial = self.path / f"{DATABASE}.partial"
        partial.unlink(missing_ok=True)
        with closing(sqlite3.connect(partial)) as database, database:
            database.executescript(_SCHEMA)
            database.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            database.executemany("INSERT INTO plays VALUES (?, ?, ?, ?, ?, ?)", map(_values, rows))
        partial.replace(self.path / DATABASE)

    def rows(self) -> list[PlayRow]:
        """Read the rows back, by round and agent."""
        with closing(sqlite3.connect(f"file:{self.path / DATABASE}?mode=ro", uri=True)) as database:
            found = database.execute("SELECT * FROM plays ORDER BY round, agent").fetchall()
        return [PlayRow(t, i, f, F, tuple(json.loads(a)), o) for t, i, f, F, a, o in found]

    def write_summary(self, summary: Summary) -> None:
        """Write summary.json."""
        _write(self.path / SUMMARY, summary.to_json())


def _values(row: PlayRow) -> tuple[int, int, float, float, str, int]:
    arrivals = json.dumps(row.arrivals, separators=(",", ":"))
    return row.round, row.agent, row.local_loss, row.global_loss, arrivals, row.outstanding


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
