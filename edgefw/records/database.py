"""The database of a run that goes on."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from edgefw.errors import EdgefwError, InputError, RecordError
from edgefw.records.folder import DATABASE, RunFolder
from edgefw.records.rows import insert_comparator, insert_rows
from edgefw.records.schema import SCHEMA, SCHEMA_VERSION, check_version
from edgefw.records.sqlite_files import check_pages, is_corrupt, may_pass, move_aside, refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from edgefw.core.account import Entry
    from edgefw.records.rows import PlayRow


ENDED = "ended"  # a key of `meta`: how the observer of the run ended
NOT, COMPLETE, STOPPED, GIVEN_UP = "no", "complete", "stopped", "given up"


class RunDatabase:
    """The database of a run under way: what it was given is on disk, and can be read, when a call returns.

    Used from one thread. A run that was cut short is gone on with: `before` is the `meta` it had. Another
    run's database is refused, a damaged one set aside.
    """

    def __init__(self, folder: RunFolder, meta: Mapping[str, str]) -> None:
        path = folder.path / DATABASE
        with ExitStack() as on_failure:
            try:
                self._database = sqlite3.connect(path)
                on_failure.callback(self._database.close)
                self._open(path, meta)
            except sqlite3.Error as error:
                raise _explained(path, error) from None
            on_failure.pop_all()

    def _open(self, path: Path, meta: Mapping[str, str]) -> None:
        if wrong := check_pages(self._database):
            raise damaged(path, wrong)
        _check_current(path, self._database)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")  # what was answered for outlives a loss of power
        self._database.executescript(SCHEMA)
        self.before: dict[str, str] = dict(self._database.execute("SELECT key, value FROM meta"))
        self._check(path, meta["digest"])
        self.add((), {**meta, ENDED: NOT})

    def add(self, rows: Iterable[PlayRow], meta: Mapping[str, str]) -> None:
        """Write rows, and set what `meta` names, together or not at all."""
        with self._database:
            insert_rows(self._database, rows, meta)

    def add_account(self, entries: Iterable[Entry]) -> None:
        """Write entries of the broker's account; what is there already stays as it is."""
        with self._database:
            self._database.executemany(
                "INSERT OR IGNORE INTO account VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", entries
            )

    def compare(self, losses: Sequence[float]) -> None:
        """Write F_t(x*) of rounds 1, 2, ..., in place of what was there."""
        with self._database:
            insert_comparator(self._database, losses)

    def close(self) -> None:
        """Leave one plain file, which a reader without the right to write can open."""
        with suppress(sqlite3.OperationalError):  # somebody is reading it: it stays as it is
            self._database.execute("PRAGMA busy_timeout = 1000")
            self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.close()

    def _check(self, path: Path, digest: str) -> None:
        found = self.before.get("digest", digest)
        if found != digest:
            raise InputError(
                f"{path} is of scenario {found}, this one is {digest}: give another --out, or remove it"
            )


def damaged(path: Path, wrong: str) -> RecordError:
    """Set a damaged database aside; return the error that says so."""
    return RecordError(
        f"the run database {path} is damaged ({wrong}): it was set aside as {move_aside(path)}; the run "
        "cannot be gone on with: put a good copy in its place, or begin another run"
    )


def _explained(path: Path, error: sqlite3.Error) -> EdgefwError:
    if is_corrupt(error):
        return damaged(path, str(error))
    if may_pass(error):
        return refused(path, error)
    return InputError(f"cannot write {path}: {error}; give another --out")


def _check_current(path: Path, database: sqlite3.Connection) -> None:
    """Refuse to go on with a run whose tables are older: they can be read, and have no place for all."""
    found = check_version(path, database)
    if 0 < found < SCHEMA_VERSION:
        raise InputError(
            f"{path} has tables of version {found}, a run is written to those of version {SCHEMA_VERSION}: "
            "give another --out, or go on with the edgefw that began it"
        )
