"""The observer's disk: the run folder, which a kill leaves as it is; and what must be in it at that moment.

A killed process has written what it has written. Its connection to the database would still be open here, so
the next life gets copies of the files under their names, and the dead keep theirs, which have none any more.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from edgefw.errors import DiskError
from edgefw.records import DATABASE
from edgefw.services.observer.recording import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from universes.disk import Disk
    from universes.wire import Wire

T = TypeVar("T")


class RecordWorker:
    """Writes the record, a little later than it is asked to, and says so a little later still."""

    def __init__(self, disk: Disk, pauses: Callable[[], tuple[float, float]]) -> None:
        self._disk, self._pauses = disk, pauses

    async def do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do some work; on a full disk nothing is written."""
        before, after = self._pauses()
        await asyncio.sleep(before)
        if self._disk.full and isinstance(getattr(work, "__self__", None), Recorder):
            raise DiskError("the disk is full")
        result = work(*arguments)
        await asyncio.sleep(after)
        return result

    def close(self) -> None:
        """Have nothing to let go of."""


def leave_behind(folder: Path) -> None:
    """Let the files of a run be others than those that a dead observer has open."""
    (folder / f"{DATABASE}-shm").unlink(missing_ok=True)
    for path in (folder / f"{DATABASE}-wal", folder / DATABASE):
        if path.exists():
            copy = path.with_name("copy")
            shutil.copyfile(path, copy)
            copy.replace(path)


def missing(folder: Path, wire: Wire) -> Iterator[str]:
    """Yield what an observer has answered for, and is not on record."""
    if not (folder / DATABASE).exists():
        return
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        rows = set(database.execute("SELECT agent, round FROM plays"))
        (kept,) = database.execute("SELECT COALESCE(MAX(moment), 0) FROM account").fetchone()
    for agent, t in sorted(wire.scored - rows):
        yield f"agent {agent}, round {t}: scored, and not on record"
    if wire.accounted > kept:
        yield f"the account is answered up to {wire.accounted}, and on record up to {kept}"
