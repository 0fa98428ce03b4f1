"""What is to be written with the next transaction."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from edgefw.services.broker.journal.records import State
from edgefw.services.broker.journal.schema import ROUND_BITS, numbers

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from collections.abc import Iterable, Sequence

    from edgefw.services.broker.journal.records import Accepted

# One statement inserts many rows: each lets go of the interpreter's lock, and may wait 5 ms to get it back.
_ROWS = 64
_PIECE = 4096  # bytes for which crc32 holds on to the interpreter's lock
_ROW = struct.Struct("<3q2d")
_PENDING, _SENT, _DONE, _DROPPED = (int(state) for state in State)  # an enum's members are slow

_FEEDBACK = "INSERT OR REPLACE INTO feedback VALUES "
_PAYLOAD = "INSERT OR REPLACE INTO payload VALUES "
_FREE = "DELETE FROM payload WHERE id IN (SELECT value FROM json_each(?))"
_MARK = "UPDATE feedback SET state = ?1 WHERE state < ?1 AND id IN (SELECT value FROM json_each(?2))"
_LINK = "INSERT INTO link (floor, agent, collected) VALUES "
_COLLECTED = " ON CONFLICT (agent) DO UPDATE SET collected = excluded.collected"


class Batch:
    """Changes in the order of their calls: a note is about what was kept before it."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []
        self.rows: dict[int, Accepted] = {}
        self.plans: dict[int, str] = {}
        self._states: dict[int, int] = {}
        self._collected: dict[int, int] = {}
        self._start: int | None = None

    def __bool__(self) -> bool:
        return bool(self.waiting or self._states or self._collected or self._start is not None)

    @property
    def notes(self) -> int:
        """How many notes there are."""
        return len(self._states) + len(self._collected) + (self._start is not None)

    def keep(self, record: Accepted, future: asyncio.Future[None]) -> None:
        """Add a feedback."""
        key = record.agent << ROUND_BITS | record.round
        self.rows[key] = record
        self._states.pop(key, None)
        self.waiting.append(future)

    def keep_plan(self, version: int, text: str, future: asyncio.Future[None]) -> None:
        """Add a version of the plan."""
        self.plans[version] = text
        self.waiting.append(future)

    def note(self, agent: int, rounds: Iterable[int], state: State) -> None:
        """Add what has become of feedbacks."""
        base, value, states = agent << ROUND_BITS, int(state), self._states
        for s in rounds:
            if states.get(base | s, _PENDING) < value:
                states[base | s] = value

    def note_collected(self, agent: int, t: int) -> None:
        """Add the last round that was asked for."""
        self._collected[agent] = t

    def note_start(self, start: int) -> None:
        """Add the run's start."""
        self._start = start

    def debts(self) -> Batch:
        """Return what remains to be written where there is no room to keep anything: the notes."""
        debts = Batch()
        debts._states, debts._collected, debts._start = self._states, self._collected, self._start
        return debts

    def inherit(self, debts: Batch) -> None:
        """Take over the notes of an earlier batch."""
        for key, state in debts._states.items():
            if key not in self.rows:
                self._states[key] = max(state, self._states.get(key, _PENDING))
        self._collected = debts._collected | self._collected
        if self._start is None:
            self._start = debts._start

    def write(self, database: sqlite3.Connection) -> None:
        """Write everything, in the transaction that is open; what makes room comes first."""
        self._write_notes(database)
        if self.plans:
            database.executemany("INSERT OR REPLACE INTO plan VALUES (?, ?)", self.plans.items())
        self._write_rows(database)

    def _write_notes(self, database: sqlite3.Connection) -> None:
        others = {key: state for key, state in self._states.items() if key not in self.rows}
        for over in (_DONE, _DROPPED):
            if gone := [key for key, state in others.items() if state == over]:
                keys = numbers(gone)
                database.execute(_FREE, (keys,))
                database.execute(_MARK, (over, keys))
        if sent := [key for key, state in others.items() if state == _SENT]:
            database.execute(_MARK, (_SENT, numbers(sent)))
        if self._collected:
            _insert(database, _LINK, [(0, *each) for each in self._collected.items()], _COLLECTED)
        if self._start is not None:
            database.execute("INSERT OR REPLACE INTO meta VALUES ('start', ?)", (self._start,))

    def _write_rows(self, database: sqlite3.Connection) -> None:
        rows: list[tuple[object, ...]] = []
        payloads: list[tuple[object, ...]] = []
        for key, (_, _, payload, norm, rank, accepted, version, dropped) in self.rows.items():
            state = _DROPPED if dropped else self._states.get(key, _PENDING)
            rows.append((key, accepted, version, norm, rank, state))
            if state < _DONE:
                checksum = crc(payload, (key, accepted, version, norm, rank))
                payloads.append((key, checksum, payload))
        _insert(database, _FEEDBACK, rows)
        _insert(database, _PAYLOAD, payloads)


def _insert(
    database: sqlite3.Connection, statement: str, rows: Sequence[tuple[object, ...]], conflict: str = ""
) -> None:
    for first in range(0, len(rows), _ROWS):
        some = rows[first : first + _ROWS]
        places = f"({','.join('?' * len(some[0]))})"
        values = [value for row in some for value in row]
        database.execute(statement + ",".join([places] * len(some)) + conflict, values)


def crc(payload: bytes, row: tuple[int, int, int, float, float]) -> int:
    """Return the checksum of a payload and its row (id to rank): SQLite has none for what it stores."""
    value = zlib.crc32(_ROW.pack(*row))
    for first in range(0, len(payload), _PIECE):
        value = zlib.crc32(payload[first : first + _PIECE], value)
    return value
