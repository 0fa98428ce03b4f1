"""Lets go of the journal of a run that is over."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from edgefw.services.broker.journal.health import Lock, beside
from edgefw.services.broker.journal.schema import APPLICATION, number

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)


def discard_other(path: Path, digest: str) -> None:
    """Remove the journal of another run than the one with this digest.

    What is no journal, or cannot be read, is left: whoever opens it says what is wrong with it.
    """
    if not path.exists():
        return
    lock = Lock(path)
    try:
        found = _digest(path)
        if found is not None and found != digest:
            log.info("removing the journal of run %s, which is over", found)
            for suffix in ("", "-wal", "-shm"):
                beside(path, suffix).unlink(missing_ok=True)
    finally:
        lock.release()


def _digest(path: Path) -> str | None:
    try:
        with closing(sqlite3.connect(path)) as database:
            if number(database, "application_id") != APPLICATION:
                return None
            found = database.execute("SELECT value FROM meta WHERE key = 'digest'").fetchone()
    except sqlite3.DatabaseError:
        return None
    return None if found is None else str(found[0])
