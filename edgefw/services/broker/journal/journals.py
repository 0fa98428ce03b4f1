"""The journals: on disk, and in memory for runs that are thrown away."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from edgefw.errors import JournalError
from edgefw.services.broker.journal.batch import Batch
from edgefw.services.broker.journal.opening import open_database
from edgefw.services.broker.journal.records import State
from edgefw.services.broker.journal.writer import Writer
from edgefw.services.broker.timeline import timeline_now
from edgefw.services.clock import completed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from edgefw.services.broker.journal.records import Accepted, Restored, Tuning
    from edgefw.services.broker.timeline import Timeline
    from edgefw.services.machine import Clocks, Machine
    from edgefw.telemetry.metrics import BrokerMetrics

log = logging.getLogger(__name__)

LAZY = 0.05  # seconds that a note may wait for company
RETRY = 0.25  # seconds after which notes for which there was no room are tried again


class Journal:
    """Keeps what a broker must not forget; this one needs nothing but the broker's memory for it.

    Calls take effect in their order. A note about a feedback that is not kept is void: who keeps it again,
    after a JournalFullError, begins anew with it.
    """

    restored: Restored | None
    timeline: Timeline
    failed: asyncio.Future[None]  # has a JournalError once nothing can be kept any more, and never a result

    def keep(self, record: Accepted) -> asyncio.Future[None]:
        """Keep a feedback; JournalFullError if there is no room, then nothing of it is kept."""
        del record
        return completed()

    def keep_plan(self, version: int, text: str) -> asyncio.Future[None]:
        """Keep a version of the plan; JournalFullError if there is no room.

        Versions only go up, and so do the versions of feedback that is kept: an older plan goes once nothing
        pending was accepted under it.
        """
        del version, text
        return completed()

    def note_start(self, start: int) -> None:
        """Note when the run started. Notes are on disk after 50 ms; what a crash takes is delivered again."""

    def note(self, agent: int, rounds: Sequence[int], state: State) -> None:
        """Note what has become of feedback; when it is done or dropped, its payload goes."""

    def note_sent(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback was handed out."""
        self.note(agent, rounds, State.SENT)

    def note_done(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback will not be handed out any more."""
        self.note(agent, rounds, State.DONE)

    def note_dropped(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback was taken away after it had been accepted."""
        self.note(agent, rounds, State.DROPPED)

    def note_collected(self, agent: int, t: int) -> None:
        """Note the last round that an agent asked for."""

    async def close(self) -> None:
        """Commit what is left, let go of the file."""


class MemoryJournal(Journal):
    """Keeps nothing: what a broker holds goes with its process."""

    def __init__(self, clocks: Clocks) -> None:
        log.warning("feedback is held in memory only: a crash loses it; this run is to be thrown away")
        self.restored = None
        self.timeline = timeline_now(clocks)
        self.failed = asyncio.get_running_loop().create_future()


class SqliteJournal(Journal):
    """A journal in a file. Its calls gather what a worker commits, a batch at a time."""

    def __init__(
        self, path: Path, run_id: str, metrics: BrokerMetrics, tuning: Tuning, machine: Machine
    ) -> None:
        self._path, self._tuning, self._loop = path, tuning, asyncio.get_running_loop()
        self.failed = self._loop.create_future()
        opened = open_database(path, run_id, tuning, machine.clocks)
        self.restored, self.timeline, self._lock = opened.restored, opened.timeline, opened.lock
        self._over: JournalError | None = None
        self._stopping = False
        self._batch, self._at_hand = Batch(), Batch()  # what gathers, and what is being written
        self._news = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._worker = machine.worker("journal")
        self._writer = Writer(opened.database, path, tuning, metrics.fsync, self._loop.time)
        self._writing = asyncio.create_task(self._write_all(), name="write the journal")

    def keep(self, record: Accepted) -> asyncio.Future[None]:
        """Keep a feedback."""
        self._batch.keep(record, future := self._promise())
        return future

    def keep_plan(self, version: int, text: str) -> asyncio.Future[None]:
        """Keep a version of the plan."""
        self._batch.keep_plan(version, text, future := self._promise())
        return future

    def note_start(self, start: int) -> None:
        """Note when the run started."""
        self._batch.note_start(start)
        self._later()

    def note(self, agent: int, rounds: Sequence[int], state: State) -> None:
        """Note what has become of feedback."""
        self._batch.note(agent, rounds, state)
        self._later()

    def note_collected(self, agent: int, t: int) -> None:
        """Note the last round that an agent asked for."""
        self._batch.note_collected(agent, t)
        self._later()

    async def close(self) -> None:
        """Commit what is left, let go of the file."""
        if self._timer is not None:
            self._timer.cancel()
        self._stopping = True
        self._news.set()
        await asyncio.wait({self._writing})
        if (mistake := self._writing.exception()) is not None:
            log.error("the journal %s was ended by a mistake of this program", self._path, exc_info=mistake)
        self._worker.close()
        self._lock.release()

    def _promise(self) -> asyncio.Future[None]:
        """Return a future that resolves when the batch that is being gathered is on disk.

        Writing begins with the next turn of the event loop, so all that this turn adds goes with it.
        """
        future: asyncio.Future[None] = self._loop.create_future()
        if self._over is not None:
            future.set_exception(self._over)
        self._news.set()
        return future

    def _later(self) -> None:
        if self._timer is None and self._over is None:
            self._timer = self._loop.call_later(LAZY, self._late)

    def _late(self) -> None:
        self._timer = None
        self._news.set()

    async def _write_all(self) -> None:
        """Write until told to stop, or until the database cannot be written; then refuse."""
        error: JournalError | None = JournalError(f"the journal {self._path} ended unexpectedly")
        try:
            stopping = False
            while not stopping:
                await self._gathered()
                stopping = self._stopping  # before taking: what came before the end is in the last batch
                await self._write()
            error = None
        except sqlite3.Error as failure:
            error = JournalError(
                f"the journal {self._path} cannot be written ({failure}): what was acknowledged is in it; "
                "look after the disk and start the broker again"
            )
        finally:
            try:
                await self._worker.do(self._writer.close)
            finally:  # whoever waits for the disk hears of it, also where closing fails
                self._end(error)

    async def _gathered(self) -> None:
        """Wait until there is something to write."""
        with suppress(TimeoutError):
            async with asyncio.timeout(RETRY if self._writer.debts else None):
                await self._news.wait()
        self._news.clear()

    async def _write(self) -> None:
        self._at_hand, self._batch = self._batch, Batch()
        if self._at_hand or self._writer.debts:
            _resolve(self._at_hand.waiting, await self._worker.do(self._writer.write, self._at_hand))

    def _end(self, error: JournalError | None) -> None:
        """Refuse from now on, and what was not written."""
        self._over = error or JournalError("the journal is closed: the broker is stopping")
        _resolve([*self._at_hand.waiting, *self._batch.waiting], self._over)
        if error is not None and not self.failed.done():
            self.failed.set_exception(error)
            self.failed.exception()  # no complaint if nobody looks at it


def _resolve(futures: Sequence[asyncio.Future[None]], error: JournalError | None) -> None:
    for future in futures:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:  # one for each: a traceback grows with everyone who raises it
            future.set_exception(type(error)(*error.args))
