"""The journal's database: its tables and its settings."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

APPLICATION = 0x65_66_77_6A  # "efwj": tells a journal from other databases
VERSION = 2
PAGE = 4096  # bytes
ROUND_BITS = 32  # a feedback's key is agent << 32 | round: in order of agent, then round

_CHECKPOINT = 2000  # pages in the log before they go to the database: some 10 ms of work
_LOG_LIMIT = 4 * _CHECKPOINT * PAGE  # bytes that the log's file keeps after a large transaction
_CACHE = 8 * 1024  # KiB
_STATEMENTS = 256  # prepared ones: an insert has one for each number of rows

_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE link (agent INTEGER PRIMARY KEY, floor INTEGER NOT NULL, collected INTEGER NOT NULL)",
    "CREATE TABLE plan (version INTEGER PRIMARY KEY, text TEXT NOT NULL)",
    """
    CREATE TABLE feedback (
      id INTEGER PRIMARY KEY,     -- agent << 32 | round
      accepted INTEGER NOT NULL,  -- real nanoseconds
      version INTEGER NOT NULL,   -- of the plan
      norm REAL NOT NULL,
      rank REAL NOT NULL,
      state INTEGER NOT NULL      -- 0 pending, 1 sent, 2 done, 3 dropped
    )
    """,
    "CREATE TABLE payload (id INTEGER PRIMARY KEY, crc INTEGER NOT NULL, bytes BLOB NOT NULL)",
)


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection of our own, which does not begin transactions by itself."""
    database = sqlite3.connect(
        path, timeout=1.0, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS
    )
    # No shared memory next to the file, which a full disk would not have; no locks for every transaction.
    database.execute("PRAGMA locking_mode = EXCLUSIVE").close()
    return database


def configure(database: sqlite3.Connection) -> None:
    """Set up the connection: a commit is on disk when it returns."""
    for pragma in (
        f"page_size = {PAGE}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "secure_delete = OFF",  # no zeros over what is deleted
        "temp_store = MEMORY",
        f"cache_size = -{_CACHE}",
        f"wal_autocheckpoint = {_CHECKPOINT}",
        f"journal_size_limit = {_LOG_LIMIT}",
    ):
        database.execute(f"PRAGMA {pragma}").close()


def create(database: sqlite3.Connection, meta: Mapping[str, object]) -> None:
    """Make the tables of a new journal, all or none."""
    with database:
        database.execute("BEGIN")
        for statement in (
            *_TABLES,
            f"PRAGMA application_id = {APPLICATION}",
            f"PRAGMA user_version = {VERSION}",
        ):
            database.execute(statement).close()
        database.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())


def set_limit(database: sqlite3.Connection, size: int, extra_pages: int = 0) -> None:
    """Let the database grow to `size` bytes and no further."""
    database.execute(f"PRAGMA max_page_count = {max(size // PAGE, 1) + extra_pages}").close()


def number(database: sqlite3.Connection, pragma: str) -> int:
    """Return the value of a pragma that is a number."""
    (value,) = database.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)


def numbers(values: Iterable[int]) -> str:
    """Return a JSON array, for json_each: one statement is about many rows, whatever their number."""
    return f"[{','.join(map(str, values))}]"
