"""The folder of a run: its scenario, its database, its summary, its logs."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import count, groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import DiskError, EdgefwError, InputError, RecordError
from edgefw.records.rows import ACCOUNT, ROWS, PlayRow, entry_of, insert_comparator, insert_rows, row_of
from edgefw.records.schema import SCHEMA, check_version, has_table, known_columns
from edgefw.records.summary import LATER, AgentSummary, Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from edgefw.core.account import Entry

DATABASE, SUMMARY, SCENARIO, LOGS = "run.sqlite", "summary.json", "scenario.yaml", "logs"


def unused(runs: Path, name: str, now: float | None = None) -> Path:
    """Make and return runs/name-TIME, with -2 and so on where another run has begun in the same second.

    `now` is in seconds since 1970, None for the system's own clock.
    """
    moment = datetime.now(UTC) if now is None else datetime.fromtimestamp(now, UTC)
    stem = f"{name}-{moment:%Y%m%d-%H%M%S}"
    for number in count(1):
        path = runs / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not path.is_dir():
                raise InputError(f"cannot make the folder {path}: {runs} is no folder; give --out") from None
        except OSError as error:
            raise InputError(f"cannot make the folder {path} ({error.strerror}): give --out") from None
        else:
            return path
    raise AssertionError  # the numbers do not end


def seeds_in(path: Path) -> list[Path]:
    """Return the folders of the seeds in that of a run of several, in the order of the seeds."""
    found = [each.parent for each in path.glob(f"seed-*/{SCENARIO}")]
    return sorted(found, key=lambda each: (len(each.name), each.name))


class RunFolder:
    """A folder that holds one run. Everything in it is written whole or not at all."""

    def __init__(self, path: Path, made: Sequence[Path] = ()) -> None:
        self.path = path
        self._made = made  # the folders that were made for it, innermost first

    @property
    def scenario_path(self) -> Path:
        """The scenario of the run."""
        return self.path / SCENARIO

    def is_begun(self) -> bool:
        """Whether there is a run in it, ended or not; a path that cannot be looked at holds none."""
        try:
            return self.scenario_path.exists()
        except OSError:  # too long a name, say: whoever makes the folder is told
            return False

    def require(self) -> None:
        """Refuse a folder that holds no run; of one with the runs of several seeds say where they are."""
        if self.is_begun():
            return
        if seeds := seeds_in(self.path):
            many = f"{self.path} holds the runs of {len(seeds)} seeds"
            raise InputError(f"{many}: give the folder of one, such as {seeds[0]}")
        raise InputError(f"{self.path} holds no run: give the folder of a run, such as runs/default-...")

    @classmethod
    def create(cls, path: Path, scenario_yaml: str) -> RunFolder:
        """Make the folder; one that holds a run already is left alone."""
        try:
            if cls(path).is_begun():
                raise InputError(f"--out {path} holds a run already: give another, or remove it")
            made = [folder for folder in (path, *path.parents) if not folder.exists()]
            path.mkdir(parents=True, exist_ok=True)
            _write_text(path / SCENARIO, scenario_yaml)
        except OSError as error:
            raise InputError(f"--out {path} cannot be written to ({error.strerror}): give another") from None
        return cls(path, made)

    @classmethod
    def adopt(cls, path: Path, scenario_yaml: str) -> RunFolder:
        """Take a folder that was made for this run, or make it."""
        if not cls(path).is_begun():
            return cls.create(path, scenario_yaml)
        return cls(path)

    def discard(self) -> None:
        """Remove what a run that came to nothing has left; one that has its summary stays."""
        if (self.path / SUMMARY).exists():
            return
        for name in (DATABASE, SUMMARY, SCENARIO):
            (self.path / name).unlink(missing_ok=True)
            (self.path / f"{name}.partial").unlink(missing_ok=True)
        with suppress(OSError):  # there may be something else in them
            for folder in self._made:
                folder.rmdir()

    def write_rows(
        self, rows: Iterable[PlayRow], meta: Mapping[str, str], comparator: Sequence[float] = ()
    ) -> None:
        """Write the run database; `comparator` has the fixed point's loss in every round."""
        partial = self.path / f"{DATABASE}.partial"
        try:
            partial.unlink(missing_ok=True)
            with closing(sqlite3.connect(partial)) as database, database:
                database.executescript(SCHEMA)
                insert_rows(database, rows, meta)
                insert_comparator(database, comparator)
            partial.replace(self.path / DATABASE)
        except (OSError, sqlite3.Error) as error:
            raise EdgefwError(f"cannot write {self.path / DATABASE}: {error}") from None

    def rows(self) -> list[PlayRow]:
        """Read the rows back, by round and agent."""
        with self._reading() as database:
            return [
                row_of(values) for values in database.execute(known_columns(database, ROWS, "plays", "late"))
            ]

    def by_round(self, rows: Iterable[PlayRow], n: int) -> list[list[PlayRow]]:
        """Return its rows round by round: n agents have to be in each, from the first round on."""
        rounds = [list(group) for _, group in groupby(rows, key=attrgetter("round"))]
        for t, group in enumerate(rounds, start=1):
            if [(row.round, row.agent) for row in group] != [(t, i) for i in range(n)]:
                raise InputError(f"{self.path / DATABASE} is not whole: plays of round {t} are missing")
        return rounds

    def account(self) -> list[Entry]:
        """Read the broker's account, in order; empty where none was recorded."""
        with self._reading() as database:
            if not has_table(database, "account"):
                return []
            query = known_columns(database, ACCOUNT, "account", "what", "who")
            return [entry_of(values) for values in database.execute(query)]

    def comparator(self) -> NDArray[np.float64] | None:
        """Read F_t(x*) of rounds 1, 2, ..., (rounds,); None where no fixed point was recorded."""
        with self._reading() as database:
            if not has_table(database, "comparator"):
                return None
            found = database.execute("SELECT round, loss FROM comparator ORDER BY round").fetchall()
        if [t for t, _ in found] != list(range(1, len(found) + 1)):
            raise RecordError("the comparator's losses are not those of rounds 1, 2, ...")
        if not all(isinstance(loss, float) and math.isfinite(loss) for _, loss in found):
            raise RecordError("the comparator's losses are no losses")
        return np.array([loss for _, loss in found]) if found else None

    def meta(self) -> dict[str, str]:
        """Read what else was recorded about the run."""
        with self._reading() as database:
            return dict(database.execute("SELECT key, value FROM meta"))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        path = self.path / DATABASE
        if not path.exists():
            raise InputError(f"{self.path} holds no {DATABASE}: give the folder of a run")
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
                check_version(path, database)
                yield database
        except sqlite3.Error as error:
            raise InputError(f"cannot read {path}: {error}") from None

    def summary_text(self) -> str | None:
        """Return what summary.json says, None if there is none: a run that was killed has left none."""
        try:
            return (self.path / SUMMARY).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def summary(self) -> Summary | None:
        """Read summary.json, None if there is none."""
        text = self.summary_text()
        if text is None:
            return None
        try:
            fields = dict.fromkeys(LATER) | json.loads(text)
            per_agent = tuple(AgentSummary(**agent) for agent in fields.pop("per_agent"))
            return Summary(**fields, per_agent=per_agent)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise RecordError(f"{self.path / SUMMARY} is no summary: `edgefw verify` says more") from None

    def withdraw_summary(self) -> None:
        """Take back that the run is whole: it is to be run once more."""
        (self.path / SUMMARY).unlink(missing_ok=True)

    def write_summary(self, summary: Summary) -> None:
        """Write summary.json."""
        try:
            _write_text(self.path / SUMMARY, summary.to_json())
        except OSError as error:
            raise DiskError(
                f"cannot write {self.path / SUMMARY}: {error.strerror}; see to its disk"
            ) from None


def _write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, also where the machine loses its power meanwhile."""
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
