"""A disk whose commits take their time, that fills up, and that a crash leaves as the last fsync did, or so.

Theory of operation. The journal is a real one, in a real file. Its worker is ours: it waits, commits, and
waits again before it says so. So a kill finds a batch before its commit (it is gone), after it (it is there,
and nobody was told), or under way: then the commit is made, and of what it wrote to the log some sectors get
lost or have flipped bits. That is what a machine without power leaves of writes that no fsync has confirmed.

Every life has a folder of its own: the files as its predecessor left them.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any, TypeVar

from edgefw.services.broker.journal.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

T = TypeVar("T")

SECTOR = 512
TAILS = ("none", "torn", "flipped", "scattered", "whole")
"""What is left of a commit under way: nothing, a beginning, all with a flipped bit, some sectors, all."""


class Disk:
    """Where the broker's journal is; `pauses` draws the seconds before a commit and after it."""

    def __init__(self, folder: Path, pauses: Callable[[], tuple[float, float]], chance: Random) -> None:
        self._folder, self._pauses, self._chance = folder, pauses, chance
        self._number = 0
        self.full = False
        self.crashes: list[str] = []  # what each left of a commit that was under way
        self._worker: JournalWorker | None = None
        self.journal.parent.mkdir(parents=True)

    @property
    def journal(self) -> Path:
        """The journal of the life that is, or of the next one."""
        return self._folder / f"disk-{self._number}" / "journal.sqlite"

    @property
    def idle(self) -> bool:
        """Whether nothing is being written."""
        return self._worker is None or not self._worker.busy

    def worker(self) -> JournalWorker:
        """Return a worker for a journal."""
        self._worker = JournalWorker(self, self._pauses)
        return self._worker

    def crash(self, tail: str) -> None:
        """Leave the files as a crash does; the next life finds them in a folder of its own."""
        before = self.journal
        old, new = self._crashed_log(before, tail)
        self._number += 1
        self.journal.parent.mkdir()
        if before.exists():
            shutil.copyfile(before, self.journal)
        log = self._torn(old, new, tail)
        if log:
            _log_of(self.journal).write_bytes(log)
        self._worker = None

    def _crashed_log(self, journal: Path, tail: str) -> tuple[bytes, bytes]:
        """Return the log as the last fsync left it, and as the commit that is under way would."""
        old = _bytes(_log_of(journal))
        if tail == "none" or self._worker is None or not self._worker.finish():
            return old, old
        return old, _bytes(_log_of(journal))

    def _torn(self, old: bytes, new: bytes, tail: str) -> bytes:
        self.crashes.append(tail if new != old else "none")
        sectors = range(0, len(new), SECTOR)
        changed = [at for at in sectors if old[at : at + SECTOR] != new[at : at + SECTOR]]
        if new == old or tail in {"none", "whole"} or not changed:
            return new if tail == "whole" else old
        log, chance = bytearray(new), self._chance
        if tail == "torn":
            first = chance.choice(changed)
            return bytes(log[: first + chance.randrange(SECTOR)] + old[first + SECTOR :])
        for at in changed if tail == "scattered" else ():
            if chance.random() < 0.5:
                log[at : at + SECTOR] = old[at : at + SECTOR].ljust(SECTOR, b"\0")
        if tail == "flipped":
            at = min(chance.choice(changed) + chance.randrange(SECTOR), len(log) - 1)
            log[at] ^= 1 << chance.randrange(8)
        return bytes(log)


class JournalWorker:
    """Does the journal's work, with pauses; it knows what it has not done yet."""

    def __init__(self, disk: Disk, pauses: Callable[[], tuple[float, float]]) -> None:
        self._disk, self._pauses = disk, pauses
        self._waiting: Callable[[], object] | None = None
        self.busy = False

    async def do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do some work, now or a little later, and say so a little later still."""
        before, after = self._pauses()
        writer = getattr(work, "__self__", None)
        if isinstance(writer, Writer) and not isinstance(writer._database, _Filling):
            writer._database = _Filling(writer._database, self._disk)  # type: ignore[assignment]
        self._waiting, self.busy = lambda: work(*arguments), True
        await _pause(before)
        self._waiting = None
        result = work(*arguments)
        await _pause(after)
        self.busy = False
        return result

    def finish(self) -> bool:
        """Do what waits to be done, for a life that has ended; return whether there was something."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting()
        return waiting is not None

    def close(self) -> None:
        """Have nothing to let go of."""


class _Filling:
    """A connection to a database on a disk that may be full: then nothing can be committed."""

    def __init__(self, database: sqlite3.Connection, disk: Disk) -> None:
        self._database, self._disk = database, disk

    def execute(self, statement: str, *values: Any) -> Any:
        if self._disk.full and statement == "COMMIT":
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return self._database.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


async def _pause(seconds: float) -> None:
    if seconds:
        await asyncio.sleep(seconds)


def _log_of(journal: Path) -> Path:
    return journal.with_name(f"{journal.name}-wal")


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
