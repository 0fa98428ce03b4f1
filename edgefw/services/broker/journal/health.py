"""Whether a journal can be used: nobody else has it, and it is whole."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from edgefw.errors import InputError, JournalCorruptError
from edgefw.records.sqlite_files import beside, is_full, move_aside
from edgefw.services.broker.journal.wal import Log, is_spent, read_log

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)


class Lock:
    """A file next to the journal that one broker has locked; the lock goes when the process does."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(beside(path, ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"cannot use the journal {path}: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(self._file, 32).partition(b"\n")[0].decode("ascii", "replace") or "?"
            os.close(self._file)
            raise InputError(
                f"the journal {path} is in use by process {owner}: stop that broker, or use another file"
            ) from None
        with suppress(OSError):  # for the message above only, and the disk may be full
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another have it."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


def log_of(path: Path) -> Log:
    """Return what stands in a journal's log, to be asked before SQLite opens it."""
    found = read_log(beside(path, "-wal"))
    if found.readable or not path.exists() or not is_spent(beside(path, "-wal"), path):
        return found
    log.warning("the journal's log was being begun anew; all that was in it is in the database")
    return Log(spent=True)


def check_log(database: sqlite3.Connection, found: Log) -> str | None:
    """Return what is wrong with the log that was `found` before SQLite recovered it, None if nothing is.

    A torn tail is not wrong, but told. A log that is spent goes: SQLite would begin it anew with what the
    damaged header says, and frames of its last use could seem to be of the next.
    """
    how = "TRUNCATE" if found.spent else "PASSIVE"
    try:
        _, recovered, _ = database.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
    except sqlite3.OperationalError as error:
        if not is_full(error):
            raise
        return None  # no room to look into it; SQLite has recovered what it could
    if found.lost(recovered):
        return f"its log is broken off after frame {recovered}, and commits follow"
    if (torn := found.left_out(recovered)) > 0:
        log.warning(
            "the journal's tail was torn: %d frames after the last complete commit were left out; "
            "nothing acknowledged is lost",
            torn,
        )
    return None


def set_aside(path: Path, wrong: str) -> JournalCorruptError:
    """Rename a damaged journal; return the error that says so."""
    new = move_aside(path)
    return JournalCorruptError(
        f"the journal {path} is damaged ({wrong}): it was set aside as {new}; put a good copy in its place, "
        "or start the broker again with an empty journal, without the feedback that was pending"
    )
