"""Commits batches, one transaction each. All of it blocks, so it is done by a worker."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING

from edgefw.errors import JournalFullError
from edgefw.records.sqlite_files import is_full
from edgefw.services.broker.journal.batch import Batch
from edgefw.services.broker.journal.compaction import compaction
from edgefw.services.broker.journal.schema import set_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prometheus_client import Histogram

    from edgefw.services.broker.journal.records import Tuning

log = logging.getLogger(__name__)

_AT_ONCE = 0.002  # seconds of compaction that a transaction may be held up for
_HEADROOM = 256  # pages beyond the limit for what makes room
_PLAN = 64  # feedbacks that a plan counts as, on the way to the next compaction


class Writer:
    """Owns the connection; `now` is the clock, in seconds."""

    def __init__(
        self,
        database: sqlite3.Connection,
        path: Path,
        tuning: Tuning,
        fsync: Histogram,
        now: Callable[[], float],
    ) -> None:
        self._database, self._path, self._tuning, self._fsync = database, path, tuning, fsync
        self._now = now
        self.debts = Batch()  # notes for which there was no room
        self._full = False
        self._version: int | None = None  # of the last feedback's plan: versions only go up
        self._kept = tuning.compact_every  # since the last compaction; there may be something to do at once
        self._compaction: Iterator[None] | None = None

    def write(self, batch: Batch) -> JournalFullError | None:
        """Write a batch; where there is no room, at least its notes, which make some. Return the error."""
        batch.inherit(self.debts)
        self.debts = Batch()
        error = self._commit(batch)
        if batch.waiting:
            self._say_full(full=error is not None)
        if error is None:
            return None
        if debts := batch.debts():
            set_limit(self._database, self._tuning.limit, _HEADROOM)
            if self._commit(debts) is not None:
                self.debts = debts
            set_limit(self._database, self._tuning.limit)
        return JournalFullError(
            f"the journal {self._path} has no room ({error}): make room on its disk, or wait until "
            f"feedback is delivered (it may have {self._tuning.limit} bytes)"
        )

    def close(self) -> None:
        """Let go of the database."""
        if self.debts:
            log.warning("no room for the journal's last %d notes: feedback may come twice", self.debts.notes)
        self._database.close()

    def _commit(self, batch: Batch) -> sqlite3.Error | None:
        """Write a batch with one transaction; return the error if there is no room, then it is undone."""
        try:
            self._database.execute("BEGIN")
            batch.write(self._database)
            self._compact(batch)
            begun = self._now()
            self._database.execute("COMMIT")
            self._fsync.observe(self._now() - begun)
        except sqlite3.OperationalError as error:
            if not is_full(error):
                raise
            self._undo()
            return error
        return None

    def _undo(self) -> None:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        self._compaction, self._kept = None, self._tuning.compact_every
        try:  # what is in the log goes to the database, so that the log can be used from its start
            self._database.execute("PRAGMA wal_checkpoint(PASSIVE)").close()
        except sqlite3.OperationalError as error:
            if not is_full(error):
                raise

    def _compact(self, batch: Batch) -> None:
        """Take some steps of compaction along, if it is time for it."""
        if batch.rows:
            self._version = next(reversed(batch.rows.values())).version
        self._kept += len(batch.rows) + _PLAN * len(batch.plans)
        due = self._kept >= self._tuning.compact_every
        if self._compaction is None and due and self._version is not None:
            self._kept = 0
            self._compaction = compaction(self._database, recent=self._tuning.recent, version=self._version)
        until = self._now() + _AT_ONCE
        for _ in self._compaction or ():
            if self._now() > until:
                return
        self._compaction = None

    def _say_full(self, *, full: bool) -> None:
        """Log when the journal fills up and when it has room again, not every time."""
        if full and not self._full:
            log.warning("the journal %s has no room: feedback is refused until it has", self._path)
        if self._full and not full:
            log.info("the journal %s has room again", self._path)
        self._full = full
