"""The broker's memory on disk: what it has acknowledged survives whatever happens to its process.

One SQLite file. `Batch` gathers what is to be written, `Writer` commits it in a thread of its own, `opening`
brings it back. What takes a `Future` is on disk when that resolves; the rest is noted lazily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.services.broker.journal.journals import MemoryJournal, SqliteJournal
from edgefw.services.broker.journal.records import Accepted, Journal, Restored, Row, State, Tuning
from edgefw.services.broker.timeline import Clocks

if TYPE_CHECKING:
    from pathlib import Path

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
    digest: str,
    metrics: BrokerMetrics,
    tuning: Tuning | None = None,
    clocks: Clocks | None = None,
) -> Journal:
    """Open the journal of the run with this digest, or begin it; None: hold everything in memory only.

    To be called in a running event loop, whose futures the journal resolves.
    """
    clocks = clocks or Clocks()
    if path is None:
        return MemoryJournal(clocks)
    return SqliteJournal(path, digest, metrics, tuning or Tuning(), clocks)
