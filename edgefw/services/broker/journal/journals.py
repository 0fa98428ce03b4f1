"""The journals: on disk, and in memory for runs that are thrown away."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from edgefw.errors import JournalError
from edgefw.services.broker.journal.opening import open_database
from edgefw.services.broker.journal.records import State
from edgefw.services.broker.journal.writer import Writer
from edgefw.services.broker.timeline import timeline_now

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from edgefw.services.broker.journal.records import Accepted, Restored, Tuning
    from edgefw.services.broker.timeline import Clocks
    from edgefw.telemetry.metrics import BrokerMetrics

log = logging.getLogger(__name__)

LAZY = 0.05  # seconds that a note may wait for company


class SqliteJournal:
    """A journal in a file. Its calls gather what the writer's thread commits; see `Journal`."""

    def __init__(
        self, path: Path, digest: str, metrics: BrokerMetrics, tuning: Tuning, clocks: Clocks
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.failed: asyncio.Future[None] = self._loop.create_future()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        opened = open_database(path, digest, tuning, clocks)
        self.restored, self.timeline, self._lock = opened.restored, opened.timeline, opened.lock
        self._over: JournalError | None = None
        self._woken = False
        self._timer: asyncio.TimerHandle | None = None
        self._writer = Writer(opened.database, path, tuning, metrics.fsync, self._settle, self._ended)
        self._writer.start()

    def keep(self, record: Accepted) -> asyncio.Future[None]:
        """Keep a feedback."""
        future = self._loop.create_future()
        if self._over is not None:
            future.set_exception(self._over)
            return future
        with self._writer.lock:
            self._writer.batch.keep(record, future)
        self._soon()
        return future

    def keep_plan(self, version: int, text: str) -> asyncio.Future[None]:
        """Keep a version of the plan."""
        future = self._loop.create_future()
        if self._over is not None:
            future.set_exception(self._over)
            return future
        with self._writer.lock:
            self._writer.batch.keep_plan(version, text, future)
        self._soon()
        return future

    def note_start(self, start: int) -> None:
        """Note when the run started."""
        with self._writer.lock:
            self._writer.batch.note_start(start)
        self._later()

    def note_sent(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback was handed out."""
        with self._writer.lock:
            self._writer.batch.note(agent, rounds, State.SENT)
        self._later()

    def note_done(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback will not be handed out any more."""
        with self._writer.lock:
            self._writer.batch.note(agent, rounds, State.DONE)
        self._later()

    def note_dropped(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback was taken away after it had been accepted."""
        with self._writer.lock:
            self._writer.batch.note(agent, rounds, State.DROPPED)
        self._later()

    def note_collected(self, agent: int, t: int) -> None:
        """Note the last round that an agent asked for."""
        with self._writer.lock:
            self._writer.batch.note_collected(agent, t)
        self._later()

    async def close(self) -> None:
        """Commit what is left, let go of the file."""
        if self._timer is not None:
            self._timer.cancel()
        self._writer.finish()
        await asyncio.shield(self._finished)
        self._writer.join()
        self._lock.release()

    def _soon(self) -> None:
        """Wake the writer, but only after all that the event loop has at hand has been added."""
        if not self._woken:
            self._woken = True
            self._loop.call_soon(self._wake)

    def _wake(self) -> None:
        self._woken = False
        self._writer.wake()

    def _later(self) -> None:
        if self._timer is None and self._over is None:
            self._timer = self._loop.call_later(LAZY, self._late)

    def _late(self) -> None:
        self._timer = None
        self._writer.wake()

    def _settle(self, futures: Sequence[asyncio.Future[None]], error: JournalError | None) -> None:
        self._tell(lambda: _resolve(futures, error))

    def _ended(self, error: JournalError | None) -> None:
        self._tell(lambda: self._end(error))

    def _tell(self, callback: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(callback)

    def _end(self, error: JournalError | None) -> None:
        """Refuse from now on, and what was not written."""
        self._over = error or JournalError("the journal is closed: the broker is stopping")
        _resolve([*self._writer.at_hand.waiting, *self._writer.take().waiting], self._over)
        if error is not None and not self.failed.done():
            self.failed.set_exception(error)
            self.failed.exception()  # no complaint if nobody looks at it
        self._finished.set_result(None)


class MemoryJournal:
    """Keeps nothing: what a broker holds goes with its process."""

    def __init__(self, clocks: Clocks) -> None:
        log.warning("feedback is held in memory only: a crash loses it; this run is to be thrown away")
        self._loop = asyncio.get_running_loop()
        self.restored: Restored | None = None
        self.timeline = timeline_now(clocks)
        self.failed: asyncio.Future[None] = self._loop.create_future()

    def keep(self, record: Accepted) -> asyncio.Future[None]:
        """Keep a feedback: it is in the broker's memory already."""
        del record
        return self._done()

    def keep_plan(self, version: int, text: str) -> asyncio.Future[None]:
        """Keep a version of the plan."""
        del version, text
        return self._done()

    def note_start(self, start: int) -> None:
        """Note nothing."""

    def note_sent(self, agent: int, rounds: Sequence[int]) -> None:
        """Note nothing."""

    def note_done(self, agent: int, rounds: Sequence[int]) -> None:
        """Note nothing."""

    def note_dropped(self, agent: int, rounds: Sequence[int]) -> None:
        """Note nothing."""

    def note_collected(self, agent: int, t: int) -> None:
        """Note nothing."""

    async def close(self) -> None:
        """Let go of nothing."""

    def _done(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = self._loop.create_future()
        future.set_result(None)
        return future


def _resolve(futures: Sequence[asyncio.Future[None]], error: JournalError | None) -> None:
    for future in futures:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:  # one for each: a traceback grows with everyone who raises it
            future.set_exception(type(error)(*error.args))
