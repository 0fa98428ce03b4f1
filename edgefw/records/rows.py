"""The rows of a run as they are written and read: one for every round and agent, and the broker's account."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from edgefw.core.account import Entry, Kind
from edgefw.errors import RecordError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

_KINDS = frozenset(Kind)
ROWS = """
SELECT p.round, p.agent, local_loss, global_loss, arrivals, outstanding, hash, point, {late}
FROM plays AS p LEFT JOIN points AS w ON w.round = p.round AND w.agent = p.agent
ORDER BY p.round, p.agent
"""
ACCOUNT = """
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


def insert_rows(database: sqlite3.Connection, rows: Iterable[PlayRow], meta: Mapping[str, str]) -> None:
    """Write rows, and set what `meta` names."""
    database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
    for row in rows:
        database.execute("INSERT INTO plays VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _values(row))
        if row.point is not None:
            database.execute("INSERT INTO points VALUES (?, ?, ?)", (row.round, row.agent, row.point))


def insert_comparator(database: sqlite3.Connection, losses: Sequence[float]) -> None:
    """Write F_t(x*) of rounds 1, 2, ..., in place of what was there."""
    database.execute("DELETE FROM comparator")
    database.executemany("INSERT INTO comparator VALUES (?, ?)", enumerate(losses, start=1))


def row_of(values: Sequence[Any]) -> PlayRow:
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


def entry_of(values: Sequence[Any]) -> Entry:
    """Return an entry of the broker's account; likewise."""
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


def _values(row: PlayRow) -> tuple[int, int, float, float, str, int, str | None, float | None]:
    losses, arrivals = (row.local_loss, row.global_loss), json.dumps(row.arrivals, separators=(",", ":"))
    return row.round, row.agent, *losses, arrivals, row.outstanding, row.hash, row.late


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
