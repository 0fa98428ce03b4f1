"""The files that an SQLite database consists of, and what its errors say about the disk."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from edgefw.errors import DiskError, EdgefwError

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = ("", "-wal", "-shm")  # of the files that a database consists of


def beside(path: Path, suffix: str) -> Path:
    """Return the path with something added to its name."""
    return path.with_name(path.name + suffix)


def move_aside(path: Path) -> Path:
    """Rename a damaged database, over nothing that is there; return its new path.

    It may still be open: SQLite leaves a file that has moved as it is when it closes it.
    """
    number = 1
    while any(beside(path, f".corrupt-{number}{suffix}").exists() for suffix in SUFFIXES):
        number += 1
    new = beside(path, f".corrupt-{number}")
    for suffix in SUFFIXES:
        if (file := beside(path, suffix)).exists():
            file.rename(beside(new, suffix))
    return new


def was_set_aside(path: Path) -> bool:
    """Whether a database that was here has been set aside."""
    return beside(path, ".corrupt-1").exists()


def check_pages(database: sqlite3.Connection) -> str | None:
    """Return what is wrong with the database's pages, None if nothing is."""
    (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
    return None if found == "ok" else " ".join(str(found).split())


def refused(path: Path, error: sqlite3.Error) -> EdgefwError:
    """Return what it means that a database cannot be written to."""
    if may_pass(error):
        return DiskError(f"cannot write {path}: {error}; see to its disk")
    return EdgefwError(f"cannot write {path}: {error}")


def error_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary error code; 0 for an error of the module's own: text that is none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_full(error: sqlite3.Error) -> bool:
    """Whether the disk or the limit is full."""
    return error_code(error) == sqlite3.SQLITE_FULL


def is_corrupt(error: sqlite3.Error) -> bool:
    """Whether the file is damaged, or no database at all."""
    return error_code(error) in {0, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def may_pass(error: sqlite3.Error) -> bool:
    """Whether the disk is full, read-only, or fails: somebody may mend that."""
    return error_code(error) in _MENDABLE


_MENDABLE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR}
