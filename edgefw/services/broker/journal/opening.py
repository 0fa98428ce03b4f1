"""Opens a journal: a new one, or what a broker before this one left, checked and read.

Or lets go of it, where it is of a run that is over.
"""

from __future__ import annotations

import logging
import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.errors import InputError, JournalFullError
from edgefw.records.sqlite_files import SUFFIXES, beside, check_pages, is_corrupt, is_full
from edgefw.services.broker.journal.batch import crc
from edgefw.services.broker.journal.compaction import forget_plans
from edgefw.services.broker.journal.health import (
    Lock,
    check_log,
    log_of,
    set_aside,
)
from edgefw.services.broker.journal.records import Restored, Row, State
from edgefw.services.broker.journal.schema import (
    APPLICATION,
    ROUND_BITS,
    VERSION,
    configure,
    connect,
    create,
    number,
    set_limit,
)
from edgefw.services.broker.timeline import Timeline, timeline_again, timeline_now

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.services.broker.journal.records import Tuning
    from edgefw.services.machine import Clocks

log = logging.getLogger(__name__)

_ROWS = """
SELECT f.id, accepted, version, norm, rank, state, crc, bytes
FROM feedback AS f LEFT JOIN payload AS p ON p.id = f.id ORDER BY f.id
"""
_NEWEST = 2**62  # a version that no plan has
_NONSENSE = (KeyError, TypeError, ValueError, struct.error)  # raised by values that make no sense
_OTHER = "use another file, or remove it if it is not needed any more"


@dataclass
class Opened:
    """An open journal; `restored` is None if it is new."""

    database: sqlite3.Connection
    lock: Lock
    timeline: Timeline
    restored: Restored | None


class _DamagedError(Exception):
    """What is wrong with a database that SQLite reads without complaint."""


def open_database(path: Path, run_id: str, tuning: Tuning, clocks: Clocks) -> Opened:
    """Open the journal of the run `run_id`; a damaged one is set aside, with an error."""
    lock = Lock(path)
    database = None
    try:
        database = connect(path)
        timeline, restored = _open(database, path, run_id, clocks)
        set_limit(database, tuning.limit)
    except (sqlite3.Error, _DamagedError, InputError, *_NONSENSE) as error:
        try:
            # Before it is closed: SQLite leaves a file that has moved as it is.
            raise _explain(path, error) from None
        finally:
            if database is not None:
                database.close()
            lock.release()
    return Opened(database, lock, timeline, restored)


def discard_other(path: Path, run_id: str) -> None:
    """Remove the journal of another run than `run_id`.

    What is no journal, or cannot be read, is left: whoever opens it says what is wrong with it.
    """
    if not path.exists():
        return
    lock = Lock(path)
    try:
        found = _run_id_of(path)
        if found not in {None, run_id}:
            log.info("removing the journal of run %s, which is over", found)
            for suffix in SUFFIXES:
                beside(path, suffix).unlink(missing_ok=True)
    finally:
        lock.release()


def _run_id_of(path: Path) -> str | None:
    """Return whose journal it is, which stays as it is: what a crash has done to it is looked at later."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            if number(database, "application_id") != APPLICATION:
                return None
            (found,) = database.execute("SELECT value FROM meta WHERE key = 'run_id'").fetchone() or (None,)
    except sqlite3.DatabaseError:
        return None
    finally:
        beside(path, "-shm").unlink(missing_ok=True)  # made for looking; nobody else has it open
    return None if found is None else str(found)


def _explain(path: Path, error: Exception) -> Exception:
    if isinstance(error, InputError):
        return error
    if isinstance(error, _NONSENSE):
        return set_aside(path, f"it holds what no broker writes: {error!r}")
    if not isinstance(error, sqlite3.Error) or is_corrupt(error):
        return set_aside(path, str(error))
    if is_full(error):
        return JournalFullError(f"no room for the journal {path} ({error}): make room on its disk")
    return InputError(f"cannot use the journal {path}: {error}")


def _open(
    database: sqlite3.Connection, path: Path, run_id: str, clocks: Clocks
) -> tuple[Timeline, Restored | None]:
    wal = log_of(path)
    _check_kind(database, path)
    configure(database)
    wrong = check_pages(database) or check_log(database, wal)  # in this order: the second one writes
    if wrong is not None:
        raise _DamagedError(wrong)
    if _is_new(database):
        timeline = timeline_now(clocks)
        create(database, {"run_id": run_id, "offset": timeline.offset, "boot": timeline.boot})
        return timeline, None
    _check_version(database, path)
    return _read(database, path, run_id, clocks)


def _read(database: sqlite3.Connection, path: Path, run_id: str, clocks: Clocks) -> tuple[Timeline, Restored]:
    meta = dict(database.execute("SELECT key, value FROM meta"))
    if meta["run_id"] != run_id:
        raise InputError(f"the journal {path} is of run {meta['run_id']}, this one is {run_id}: {_OTHER}")
    timeline = _timeline(database, Timeline(meta["offset"], meta["boot"]), clocks)
    return timeline, _restore(database, meta.get("start"))


def _is_new(database: sqlite3.Connection) -> bool:
    return number(database, "schema_version") == 0


def _check_kind(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a database of something else before anything in it changes."""
    if not _is_new(database) and number(database, "application_id") != APPLICATION:
        raise InputError(f"{path} is a database, but not a broker's journal: use another file")


def _check_version(database: sqlite3.Connection, path: Path) -> None:
    if (version := number(database, "user_version")) != VERSION:
        raise InputError(
            f"the journal {path} has format {version}, this edgefw uses format {VERSION}: {_OTHER}"
        )


def _timeline(database: sqlite3.Connection, stored: Timeline, clocks: Clocks) -> Timeline:
    timeline = timeline_again(stored, clocks)
    if timeline != stored:
        with database:
            database.execute("BEGIN")
            values = [(timeline.offset, "offset"), (timeline.boot, "boot")]
            database.executemany("UPDATE meta SET value = ? WHERE key = ?", values)
    return timeline


def _restore(database: sqlite3.Connection, start: int | None) -> Restored:
    for _ in forget_plans(database, _NEWEST):
        pass
    links = database.execute("SELECT agent, floor, collected FROM link").fetchall()
    return Restored(
        start=start,
        plans=dict(database.execute("SELECT version, text FROM plan ORDER BY version")),
        floors={agent: floor for agent, floor, _ in links if floor},
        collected={agent: t for agent, _, t in links if t},
        rows=[_row(*values) for values in database.execute(_ROWS)],
    )


def _row(
    key: int,
    accepted: int,
    version: int,
    norm: float,
    rank: float,
    state: int,
    checksum: int | None,
    payload: bytes | None,
) -> Row:
    agent, round_ = key >> ROUND_BITS, key & ((1 << ROUND_BITS) - 1)
    row = (key, accepted, version, norm, rank)
    if state < State.DONE and (payload is None or crc(payload, row) != checksum):
        raise _DamagedError(f"the feedback of agent {agent}, round {round_} is not what was stored")
    return Row(agent, round_, accepted, version, norm, rank, State(state), payload)
