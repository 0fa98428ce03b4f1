"""The thread that commits: all that has gathered meanwhile goes to disk with one transaction."""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from edgefw.errors import JournalError, JournalFullError
from edgefw.services.broker.journal.batch import Batch
from edgefw.services.broker.journal.compaction import compaction
from edgefw.services.broker.journal.schema import is_full, set_limit

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from prometheus_client import Histogram

    from edgefw.services.broker.journal.records import Tuning

log = logging.getLogger(__name__)

SPACING = 0.002  # seconds from one commit to the next, at least
RETRY = 0.25  # seconds after which notes for which there was no room are tried again
_AT_ONCE = 0.002  # seconds of compaction that a transaction may be held up for
_HEADROOM = 256  # pages beyond the limit for what makes room
_PLAN = 64  # feedbacks that a plan counts as, on the way to the next compaction


class Writer(threading.Thread):
    """Owns the connection while it runs. `settle` and `ended` are called in this thread."""

    def __init__(
        self,
        database: sqlite3.Connection,
        path: Path,
        tuning: Tuning,
        fsync: Histogram,
        settle: Callable[[Sequence[asyncio.Future[None]], JournalError | None], None],
        ended: Callable[[JournalError | None], None],
    ) -> None:
        super().__init__(name="journal", daemon=True)
        self.lock = threading.Lock()  # of `batch`, to which the event loop adds
        self.batch = Batch()
        self.at_hand = Batch()  # what is being written
        self._database, self._path, self._tuning, self._fsync = database, path, tuning, fsync
        self._settle, self._ended = settle, ended
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._stopping = False
        self._debts = Batch()
        self._full = False
        self._version: int | None = None  # of the last feedback's plan: versions only go up
        self._kept = tuning.compact_every  # since the last compaction; there may be something to do at once
        self._compaction: Iterator[None] | None = None
        self._begun = 0.0  # when the last commit was begun

    def wake(self) -> None:
        """Let what has gathered be written (event loop)."""
        self._wake.put(None)

    def finish(self) -> None:
        """Let the thread end when it has written what is there (event loop)."""
        self._stopping = True
        self.wake()

    def take(self) -> Batch:
        """Take out what has gathered."""
        with self.lock:
            batch, self.batch = self.batch, Batch()
        return batch

    def run(self) -> None:
        """Write until told to finish, or until the database cannot be written."""
        error: JournalError | None = JournalError(f"the journal {self._path} ended unexpectedly")
        try:
            self._serve()
            error = None
        except sqlite3.Error as failure:
            error = JournalError(
                f"the journal {self._path} cannot be written ({failure}): what was acknowledged is in it; "
                "look after the disk and start the broker again"
            )
        finally:
            self._database.close()
            self._ended(error)

    def _serve(self) -> None:
        stopping = False
        while not stopping:
            with suppress(Empty):
                self._wake.get(timeout=RETRY if self._debts else None)
            self._gather()
            stopping = self._stopping  # before taking: what came before the end is in the last batch
            self.at_hand = self.take()
            self.at_hand.inherit(self._debts)
            self._debts = Batch()
            if self.at_hand:
                self._write(self.at_hand)
        if self._debts:
            log.warning("no room for the journal's last %d notes: feedback may come twice", self._debts.notes)

    def _gather(self) -> None:
        """Wait for company, unless the last commit is long ago: many small ones cost more than a few."""
        pause = self._begun + SPACING - perf_counter()
        if pause > 0 and not self._stopping:
            sleep(pause)
        self._begun = perf_counter()

    def _write(self, batch: Batch) -> None:
        """Write a batch; where there is no room, at least its notes, which make some."""
        if (error := self._commit(batch)) is None:
            if batch.waiting:
                self._settle(batch.waiting, None)
                self._say_full(full=False)
            return
        if batch.waiting:
            self._settle(batch.waiting, JournalFullError(self._no_room(error)))
            self._say_full(full=True)
        if debts := batch.debts():
            self._write_debts(debts)

    def _write_debts(self, debts: Batch) -> None:
        set_limit(self._database, self._tuning.limit, _HEADROOM)
        if self._commit(debts) is not None:
            self._debts = debts
        set_limit(self._database, self._tuning.limit)

    def _commit(self, batch: Batch) -> sqlite3.Error | None:
        """Write a batch with one transaction; return the error if there is no room, then it is undone."""
        try:
            self._database.execute("BEGIN")
            batch.write(self._database)
            self._compact(batch)
            begun = perf_counter()
            self._database.execute("COMMIT")
            self._fsync.observe(perf_counter() - begun)
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
        until = perf_counter() + _AT_ONCE
        for _ in self._compaction or ():
            if perf_counter() > until:
                return
        self._compaction = None

    def _no_room(self, error: sqlite3.Error) -> str:
        return (
            f"the journal {self._path} has no room ({error}): make room on its disk, or wait until "
            f"feedback is delivered (it may have {self._tuning.limit} bytes)"
        )

    def _say_full(self, *, full: bool) -> None:
        """Log when the journal fills up and when it has room again, not every time."""
        if full and not self._full:
            log.warning("the journal %s has no room: feedback is refused until it has", self._path)
        if self._full and not full:
            log.info("the journal %s has room again", self._path)
        self._full = full
