"""The one row schema of a run, simulated or emulated: the run folder, its database and its summary."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sqlite3
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import count, groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import threadpoolctl

from edgefw.core.account import Entry, Kind
from edgefw.core.regret import Comparator, cumulative_loss, network_regret, total_loss
from edgefw.errors import EdgefwError, InputError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from edgefw.problem.feasible.base import Real

DATABASE, SUMMARY, SCENARIO, LOGS = "run.sqlite", "summary.json", "scenario.yaml", "logs"

_KINDS = frozenset(Kind)
_PIECE = 2047  # bytes: to hash more, Python lets go of its lock, and a busy broker waits to get it back
WHOLE_EVERY = 50  # rounds between plays that are kept whole

SCHEMA_VERSION = (
    3  # of the tables; also in the file, as its user_version. A table or column more is a new one.
)
SCHEMA = f"""
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE IF NOT EXISTS meta ( -- what else is known of the run
  key TEXT PRIMARY KEY,       -- what is told
  value TEXT NOT NULL         -- as text
);
CREATE TABLE IF NOT EXISTS plays ( -- one row for every round and agent
  round INTEGER NOT NULL,     -- t, from 1
  agent INTEGER NOT NULL,     -- i, from 0
  local_loss REAL NOT NULL,   -- f_t^i(x_t^i): of the play on the agent's own batch
  global_loss REAL NOT NULL,  -- F_t(x_t^i): of the play on the batches of all agents, their mean
  arrivals TEXT NOT NULL,     -- the rounds in F_{{t-1}}^i, whose feedback led to this play, as JSON
  outstanding INTEGER NOT NULL, -- feedbacks submitted that had not come, and were not known to be dropped
  hash TEXT,                  -- of the play's bytes; a simulated run has none
  late REAL,                  -- seconds that the round began after its tick, a missed tick; NULL where it was
                              -- not missed, or there is none (pace asap, simulated); from version 3 on
  PRIMARY KEY (round, agent)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS points ( -- every {WHOLE_EVERY}th round's plays, whole; a simulated run has none
  round INTEGER NOT NULL,     -- t
  agent INTEGER NOT NULL,     -- i
  point BLOB NOT NULL,        -- the play, (C, m) row by row, little-endian float32
  PRIMARY KEY (round, agent)
);
CREATE TABLE IF NOT EXISTS account ( -- what the broker did, in order; a simulated run has none
  moment INTEGER PRIMARY KEY, -- real nanoseconds, on the broker's clock
  kind INTEGER NOT NULL,      -- 1 begun (again), 2 plan, 3 accepted, 4 withdrawn, 5 redue, 6 released,
                              -- 7 acknowledged, 8 collected, 9 dropped, 10 lost: see core/account.py
  agent INTEGER NOT NULL,     -- 0 where it is about none
  round INTEGER NOT NULL,     -- likewise; plan: the last of which anybody's feedback had been accepted
  version INTEGER NOT NULL,   -- of the plan in force
  due INTEGER,                -- accepted, released: nanoseconds, or a round; NULL while nobody can say
  hash TEXT,                  -- accepted: of the payload; NULL where a killed broker had not told it
  norm REAL,                  -- accepted: of the gradient at the play
  plan TEXT,                  -- plan: the whole of it, as JSON
  what TEXT,                  -- plan: what it changed, in words; from version 3 on
  who TEXT                    -- plan: who changed it, such as curl/8.14.1 at 127.0.0.1: the name that the
                              -- caller gives itself (User-Agent), its address; or broker; from version 3 on
);
CREATE VIEW IF NOT EXISTS changes ( -- the plans of the account, in order; from version 3 on
  round,                      -- the last of which anybody's feedback had been accepted
  seconds,                    -- after the first feedback was accepted (before it: below 0)
  version,                    -- of the plan
  what,                       -- it changed, in words
  who,                        -- changed it
  plan                        -- the whole of it, as JSON
) AS SELECT
  round, (moment - (SELECT MIN(moment) FROM account WHERE kind = 3)) / 1e9, version, what, who, plan
FROM account WHERE kind = 2 ORDER BY moment;
CREATE TABLE IF NOT EXISTS comparator ( -- the fixed point that regret is measured against; from version 2 on
  round INTEGER PRIMARY KEY,  -- t
  loss REAL NOT NULL          -- F_t(x*): what it loses, so a sum of global_loss - loss is a regret
);
"""  # noqa: S608 - nothing in it comes from outside
_ROWS = """
SELECT p.round, p.agent, local_loss, global_loss, arrivals, outstanding, hash, point, {late}
FROM plays AS p LEFT JOIN points AS w ON w.round = p.round AND w.agent = p.agent
ORDER BY p.round, p.agent
"""
_ACCOUNT = """
SELECT moment, kind, agent, round, version, due, hash, norm, plan, {what}, {who} FROM account ORDER BY moment
"""


@dataclass(frozen=True)
class PlayRow:
    """One agent's round, in every mode.

    `arrivals` is F_{t-1}: the rounds whose feedback was used in the sweep that led to this play, so none for
    t = 1. An emulated run has the play's `hash` too, and every 50th `point` as bytes.
    """

    round: int
    agent: int
    local_loss: float
    global_loss: float
    arrivals: tuple[int, ...]
    outstanding: int  # feedbacks submitted up to round t that had not come, and were not known to be dropped
    hash: str | None = None
    point: bytes | None = field(default=None, repr=False)
    late: float | None = None  # seconds that it began after its tick; None where it missed none, or has none


@dataclass(frozen=True)
class AgentSummary:
    """What a run was for one agent; `regret` is None where no comparator was asked for."""

    agent: int  # i, from 0
    cumulative_loss: float  # the sum over t of F_t(x_t^i)
    regret: float | None  # that, less comparator_loss
    total_delay: int  # B_i


@dataclass(frozen=True)
class Summary:
    """What a run was: the content of summary.json. Regret lies in [regret, regret + comparator_gap]."""

    name: str  # of the scenario
    digest: str  # of the scenario: what was asked for, names left out
    mode: str  # simulate (arrays) or up (services)
    algorithm: str  # its name
    seed: int  # of all that is drawn
    data: str  # the data set that was used
    agents: int  # n
    rate: float  # zeta, or the gradient step
    rate_reason: str  # where it comes from: given, or derived from what the scenario declares
    rounds: int  # that were played
    total_loss: float  # the sum over t of max_i F_t(x_t^i): a sum of maxima
    network_regret: float | None  # the largest of the agents' regrets: a maximum of sums
    comparator_loss: float | None  # of the best fixed point that was found, over the rounds played
    comparator_gap: float | None  # how much less the best fixed point may lose at most
    total_delay: float  # B, the mean over agents
    unused: int  # feedbacks of rounds before the last that no play has used
    messages: int  # frames sent from agent to agent
    bytes: int  # that the arrays in these messages take: messages times the size of a frame's arrays
    wire_bytes: int | None  # that were written to the network for them, encoded; None: simulated
    wall_seconds: float  # from the first play to the last; of a simulated run, how long it took
    pace_asked: float | None  # seconds a round; None: as fast as it goes, or simulated
    pace_reached: float | None  # seconds that a round took, the mean over the run
    pace_kept: bool | None  # false: what is given in seconds fell on other rounds than planned
    missed_ticks: int | None  # rounds of agents that began after their tick; None: no pace, or simulated
    per_agent: tuple[AgentSummary, ...]  # one for every agent

    def to_json(self) -> str:
        """Return the summary as it stands in the run folder."""
        return json.dumps(asdict(self), indent=2) + "\n"


LATER = frozenset({"pace_asked", "pace_reached", "pace_kept", "missed_ticks", "wire_bytes"})
"""Fields of a summary that the first runs did not have: they are read as null."""


def score(
    losses: NDArray[np.float64], total_delay: Sequence[int], comparator: Comparator | None
) -> dict[str, Any]:
    """Return the fields of a summary that follow from the global losses (rounds, n)."""
    cumulative = cumulative_loss(losses)
    regrets = [None if comparator is None else float(c - comparator.value) for c in cumulative]
    per_agent = zip(range(len(cumulative)), cumulative, regrets, total_delay, strict=True)
    return {
        "total_loss": total_loss(losses),
        "network_regret": None if comparator is None else network_regret(losses, comparator),
        "comparator_loss": None if comparator is None else comparator.value,
        "comparator_gap": None if comparator is None else comparator.gap,
        "total_delay": float(np.mean(total_delay)),
        "per_agent": tuple(AgentSummary(i, float(c), r, int(b)) for i, c, r, b in per_agent),
    }


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
                _insert(database, rows, meta)
                _compare(database, comparator)
            partial.replace(self.path / DATABASE)
        except (OSError, sqlite3.Error) as error:
            raise EdgefwError(f"cannot write {self.path / DATABASE}: {error}") from None

    def rows(self) -> list[PlayRow]:
        """Read the rows back, by round and agent."""
        with self._reading() as database:
            return [_row(values) for values in database.execute(_query(database, _ROWS, "plays", "late"))]

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
            if not _has(database, "account"):
                return []
            query = _query(database, _ACCOUNT, "account", "what", "who")
            return [_entry(values) for values in database.execute(query)]

    def comparator(self) -> NDArray[np.float64] | None:
        """Read F_t(x*) of rounds 1, 2, ..., (rounds,); None where no fixed point was recorded."""
        with self._reading() as database:
            if not _has(database, "comparator"):
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
                _check_version(path, database)
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
            raise EdgefwError(f"cannot write {self.path / SUMMARY}: {error.strerror}") from None


class RunDatabase:
    """The database of a run under way: what `add` was given outlives the process, and can be read meanwhile.

    Used from one thread. A run that was cut short is gone on with; another run's database is refused.
    """

    def __init__(self, folder: RunFolder, meta: Mapping[str, str]) -> None:
        path = folder.path / DATABASE
        try:
            with ExitStack() as on_failure:
                self._database = sqlite3.connect(path)
                on_failure.callback(self._database.close)
                _check_current(path, self._database)
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = NORMAL")  # a kill loses nothing
                self._database.executescript(SCHEMA)
                self._check(path, meta["digest"])
                self.add((), meta)
                on_failure.pop_all()
        except sqlite3.Error as error:
            raise InputError(f"cannot write {path}: {error}; give another --out") from None

    def add(self, rows: Iterable[PlayRow], meta: Mapping[str, str]) -> None:
        """Write rows, and set what `meta` names, together or not at all."""
        with self._database:
            _insert(self._database, rows, meta)

    def add_account(self, entries: Iterable[Entry]) -> None:
        """Write entries of the broker's account; what is there already stays as it is."""
        with self._database:
            self._database.executemany(
                "INSERT OR IGNORE INTO account VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", entries
            )

    def compare(self, losses: Sequence[float]) -> None:
        """Write F_t(x*) of rounds 1, 2, ..., in place of what was there."""
        with self._database:
            _compare(self._database, losses)

    def close(self) -> None:
        """Leave one plain file, which a reader without the right to write can open."""
        with suppress(sqlite3.OperationalError):  # somebody is reading it: it stays as it is
            self._database.execute("PRAGMA busy_timeout = 1000")
            self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.close()

    def _check(self, path: Path, digest: str) -> None:
        found = self._database.execute("SELECT value FROM meta WHERE key = 'digest'").fetchone()
        if found is not None and found[0] != digest:
            raise InputError(
                f"{path} is of scenario {found[0]}, this one is {digest}: give another --out, or remove it"
            )


def _check_version(path: Path, database: sqlite3.Connection) -> int:
    """Refuse tables that this program does not know; return their version: the first ones did not say it."""
    (found,) = database.execute("PRAGMA user_version").fetchone()
    if found > SCHEMA_VERSION:
        raise InputError(
            f"{path} has tables of version {found}, this edgefw knows {SCHEMA_VERSION}: use a newer one"
        )
    return int(found or _has(database, "plays"))


def _check_current(path: Path, database: sqlite3.Connection) -> None:
    """Refuse to go on with a run whose tables are older: they can be read, and have no place for all."""
    found = _check_version(path, database)
    if 0 < found < SCHEMA_VERSION:
        raise InputError(
            f"{path} has tables of version {found}, a run is written to those of version {SCHEMA_VERSION}: "
            "give another --out, or go on with the edgefw that began it"
        )


def play_bytes(point: Real) -> bytes:
    """Return a play (C, m) as it is hashed and kept: row by row, little-endian float32."""
    return np.ascontiguousarray(point, dtype="<f4").tobytes()


def content_hash(content: bytes) -> str:
    """Return the 128-bit hash, in hexadecimal, of a play's bytes or a payload's.

    >>> content_hash(play_bytes(np.zeros((1, 2))))
    'c804ce198ec337e3dc762bdd1a09aece'
    """
    found = hashlib.blake2b(digest_size=16)
    for first in range(0, len(content), _PIECE):
        found.update(content[first : first + _PIECE])
    return found.hexdigest()


def environment() -> dict[str, str]:
    """Return what can change the last bits of a sum: where these agree, a replay is identical."""
    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    cores = {str(pool["architecture"]) for pool in threadpoolctl.threadpool_info() if "architecture" in pool}
    return {
        "numpy": np.__version__,
        "blas": f"{blas['name']} {blas.get('version', '')}".strip(),
        "blas_core": " ".join(sorted(cores)),
        "simd": " ".join(config["SIMD Extensions"].get("found", ())),
        "machine": platform.machine(),
    }


def _insert(database: sqlite3.Connection, rows: Iterable[PlayRow], meta: Mapping[str, str]) -> None:
    database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
    for row in rows:
        database.execute("INSERT INTO plays VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _values(row))
        if row.point is not None:
            database.execute("INSERT INTO points VALUES (?, ?, ?)", (row.round, row.agent, row.point))


def _has(database: sqlite3.Connection, table: str) -> bool:
    """Whether there is a table: an older run may not have it."""
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _query(database: sqlite3.Connection, query: str, table: str, *columns: str) -> str:
    """Return a query; columns that an older table has not are NULL."""
    there = {name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")}
    return query.format(**{name: name if name in there else "NULL" for name in columns})


def _compare(database: sqlite3.Connection, losses: Sequence[float]) -> None:
    database.execute("DELETE FROM comparator")
    database.executemany("INSERT INTO comparator VALUES (?, ?)", enumerate(losses, start=1))


def _values(row: PlayRow) -> tuple[int, int, float, float, str, int, str | None, float | None]:
    losses, arrivals = (row.local_loss, row.global_loss), json.dumps(row.arrivals, separators=(",", ":"))
    return row.round, row.agent, *losses, arrivals, row.outstanding, row.hash, row.late


def _row(values: Sequence[Any]) -> PlayRow:
    """Return a row of the database; SQLite keeps whatever it is given, so every value is looked at."""
    t, i, local, network, arrivals, outstanding, hash_, point, late = values
    place = f"round {t}, agent {i}"
    for name, value in (("local loss", local), ("global loss", network)):
        if not isinstance(value, float) or not math.isfinite(value):
            raise RecordError(f"{place}: the {name} is {value!r}, which is no loss")
    if not isinstance(outstanding, int) or not 0 <= outstanding <= t:
        raise RecordError(f"{place}: {outstanding!r} feedbacks are said to be outstanding")
    if not isinstance(hash_, str | None) or not isinstance(point, bytes | None):
        raise RecordError(f"{place}: the play is no play")
    if late is not None and not (isinstance(late, float) and 0 <= late < math.inf):
        raise RecordError(f"{place}: the round is said to have begun {late!r} s late")
    return PlayRow(t, i, local, network, _arrivals(place, t, arrivals), outstanding, hash_, point, late)


def _entry(values: Sequence[Any]) -> Entry:
    moment, kind, agent, s, version, due, hash_, norm, *texts = values
    whole = (agent, s, version, moment if due is None else due)
    if (
        kind not in _KINDS
        or not all(isinstance(value, int) for value in whole)
        or not all(isinstance(value, str | None) for value in (hash_, *texts))
        or not isinstance(norm, float | None)
    ):
        raise RecordError(f"the account at {moment} is {values!r}, which is no entry")
    return Entry(moment, Kind(kind), agent, s, version, due, hash_, norm, *texts)


def _arrivals(place: str, t: int, text: Any) -> tuple[int, ...]:
    """Return F_{t-1}: distinct rounds before t, in order."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, list) or any(type(s) is not int for s in found):
        raise RecordError(f"{place}: the arrivals are {text!r}, which is no list of rounds")
    if any(after <= before for before, after in pairwise((0, *found, t))):
        raise RecordError(f"{place}: the arrivals are {text}: distinct earlier rounds are expected, in order")
    return tuple(found)


def _write_text(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
