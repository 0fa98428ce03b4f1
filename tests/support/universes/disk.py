"""A disk whose commits take their time, that fills up, and that a crash leaves as the last fsync did, or so.

Theory of operation. The journal is a real one, in a real file. Its worker is ours: it waits, commits, and
waits again before it says so. So a kill finds a batch before its commit (it is gone), after it (it is there,
and nobody was told), or under way: then the commit is made, and `crash` says what is left of what it wrote.

Every life has a folder of its own: the files as its predecessor left them.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING, Any, TypeVar

from edgefw.services.broker.journal.writer import Writer
from universes.crash import Files, interrupted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

T = TypeVar("T")


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
        before = self._files()
        under_way = tail != "none" and self._worker is not None and self._worker.finish()
        after = self._files() if under_way else before
        left = interrupted(before, after, tail, self._chance)
        self.crashes.append("none" if after == before else tail)
        self._number += 1
        self.journal.parent.mkdir()
        for path, content in zip(_paths(self.journal), left, strict=True):
            if content is not None:
                path.write_bytes(content)
        self._worker = None

    def _files(self) -> Files:
        return Files(*(path.read_bytes() if path.exists() else None for path in _paths(self.journal)))


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


def _paths(journal: Path) -> tuple[Path, Path]:
    return journal, journal.with_name(f"{journal.name}-wal")
