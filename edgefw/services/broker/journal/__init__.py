"""The broker's memory on disk: what it has acknowledged survives whatever happens to its process.

One SQLite file. `Batch` gathers what is to be written, `Writer` commits it on a worker, `opening` brings it
back. What takes a `Future` is on disk when that resolves; the rest is noted lazily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.services.broker.journal.journals import Journal, MemoryJournal, SqliteJournal
from edgefw.services.broker.journal.records import Accepted, Restored, Row, State, Tuning
from edgefw.services.machine import REAL

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.services.machine import Machine
    from edgefw.telemetry.metrics import BrokerMetrics

__all__ = [
    "Accepted",
    "Journal",
    "MemoryJournal",
    "Restored",
    "Row",
    "SqliteJournal",
    "State",
    "Tuning",
    "open_journal",
]


def open_journal(
    path: Path | None,
    run_id: str,
    metrics: BrokerMetrics,
    tuning: Tuning | None = None,
    machine: Machine = REAL,
) -> Journal:
    """Open the journal of the run `run_id`, or begin it; None: hold everything in memory only.

    To be called in a running event loop, whose futures the journal resolves.
    """
    if path is None:
        return MemoryJournal(machine.clocks)
    return SqliteJournal(path, run_id, metrics, tuning or Tuning(), machine)
