"""Keeps the journal small: done rounds become one number a link, plans that nothing refers to go.

The work is cut into steps of less than a millisecond; a transaction takes along as many as it has time for.
All that a step knows it reads from the database, so nothing is wrong when its transaction is rolled back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.services.broker.journal.schema import ROUND_BITS, numbers

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

_ROWS = 256  # removed in a step
_LOOKED_AT = 2048  # rows, in a step that only reads
_ROUND = (1 << ROUND_BITS) - 1

_FIRST_FROM = "SELECT id FROM feedback WHERE id >= ? ORDER BY id LIMIT 1"
_LAST_BELOW = "SELECT id FROM feedback WHERE id < ? ORDER BY id DESC LIMIT 1"
# How many rows from ?1 on, up to ?2, are done and have no gap before them: n counts them.
_PREFIX = """
SELECT coalesce(min(n) FILTER (WHERE state < 2 OR id - n <> ?1 - 1), count(*) + 1) - 1
FROM (SELECT id, state, row_number() OVER (ORDER BY id) AS n FROM feedback WHERE id BETWEEN ?1 AND ?2)
"""
_FLOOR = "INSERT INTO link VALUES (?, ?, 0) ON CONFLICT (agent) DO UPDATE SET floor = excluded.floor"
_VERSIONS = """
SELECT max(id), group_concat(DISTINCT CASE WHEN state < 2 THEN version END)
FROM (SELECT id, state, version FROM feedback WHERE id > ? ORDER BY id LIMIT ?)
"""
_OLD_PLANS = """
FROM plan WHERE version < ? AND version < (SELECT max(version) FROM plan)
AND version NOT IN (SELECT value FROM json_each(?))
"""


def compaction(database: sqlite3.Connection, *, recent: int, version: int) -> Iterator[None]:
    """Compact step by step; what is kept from now on refers to plan `version` or a later one."""
    first = _one(database, _FIRST_FROM, 0)
    while first is not None:
        agent = first >> ROUND_BITS
        yield from _collapse(database, agent, recent)
        first = _one(database, _FIRST_FROM, (agent + 1) << ROUND_BITS)
    yield from forget_plans(database, version)


def _collapse(database: sqlite3.Connection, agent: int, recent: int) -> Iterator[None]:
    """Turn the rounds of a link that are all done into its floor, except for the recent ones."""
    removed = _ROWS
    while removed == _ROWS:
        last = _one(database, _LAST_BELOW, (agent + 1) << ROUND_BITS)
        highest = 0 if last is None or last >> ROUND_BITS != agent else last & _ROUND
        floor = _one(database, "SELECT floor FROM link WHERE agent = ?", agent) or 0
        removed = _raise_floor(database, agent, floor, min(highest - recent, floor + _ROWS))
        yield


def _raise_floor(database: sqlite3.Connection, agent: int, floor: int, top: int) -> int:
    """Remove the rows of rounds floor + 1..top up to the first that is not done; return their number."""
    if top <= floor:
        return 0
    base = agent << ROUND_BITS
    count = _one(database, _PREFIX, base | (floor + 1), base | top) or 0
    if count:
        database.execute("DELETE FROM feedback WHERE id BETWEEN ? AND ?", (base | 1, base | (floor + count)))
        database.execute(_FLOOR, (agent, floor + count))
    return count


def forget_plans(database: sqlite3.Connection, version: int) -> Iterator[None]:
    """Remove the plans before `version` under which nothing pending was accepted; the newest stays."""
    if not _one(database, f"SELECT count(*) {_OLD_PLANS}", version, "[]"):
        return
    used: set[int] = set()
    key: int | None = -1
    while key is not None:
        key, versions = database.execute(_VERSIONS, (key, _LOOKED_AT)).fetchone()
        used.update(map(int, versions.split(",")) if versions else ())
        yield
    database.execute(f"DELETE {_OLD_PLANS}", (version, numbers(used)))
    yield


def _one(database: sqlite3.Connection, query: str, *values: object) -> int | None:
    """Return the only value of a query's first row, None if there is none."""
    found = database.execute(query, values).fetchone()
    return None if found is None else found[0]
