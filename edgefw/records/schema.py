"""The tables of a run's database, and which versions of them there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.errors import InputError

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

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
  due INTEGER,                -- accepted, released: nanoseconds, or a round; NULL while nobody can say;
                              -- begun: when the run started, if it had
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


def check_version(path: Path, database: sqlite3.Connection) -> int:
    """Refuse tables that this program does not know; return their version: the first ones did not say it."""
    (found,) = database.execute("PRAGMA user_version").fetchone()
    if found > SCHEMA_VERSION:
        raise InputError(
            f"{path} has tables of version {found}, this edgefw knows {SCHEMA_VERSION}: use a newer one"
        )
    return int(found or has_table(database, "plays"))


def has_table(database: sqlite3.Connection, table: str) -> bool:
    """Whether there is a table: an older run may not have it."""
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def known_columns(database: sqlite3.Connection, query: str, table: str, *columns: str) -> str:
    """Return a query; columns that an older table has not are NULL."""
    there = {name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")}
    return query.format(**{name: name if name in there else "NULL" for name in columns})
