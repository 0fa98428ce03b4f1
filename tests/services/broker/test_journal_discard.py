from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from journal_files import RUN_ID, crash, opened, record
from prometheus_client import CollectorRegistry

from edgefw.errors import InputError
from edgefw.services.broker.journal import open_journal
from edgefw.services.broker.journal.opening import discard_other
from edgefw.telemetry.metrics import BrokerMetrics

if TYPE_CHECKING:
    from pathlib import Path


async def make(path: Path, run_id: str) -> None:
    journal = open_journal(path, run_id, BrokerMetrics(CollectorRegistry()))
    await journal.keep_plan(1, "{}")
    await journal.close()


def test_the_journal_of_another_run_goes_and_of_the_same_run_stays(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    discard_other(path, "digest/a")  # there is none
    asyncio.run(make(path, "digest/a"))
    discard_other(path, "digest/a")
    assert path.exists()
    discard_other(path, "digest/b")
    assert not path.exists()
    asyncio.run(make(path, "digest/b"))  # and the next run begins its own


def test_looking_whose_journal_it_is_leaves_what_a_crash_left_for_whoever_opens_it(tmp_path: Path) -> None:
    async def test() -> Path:
        async with opened(tmp_path / "journal.sqlite") as journal:
            await journal.keep(record(0, 1))
            await journal.keep(record(0, 2))
            return crash(tmp_path / "journal.sqlite", tmp_path / "copy.sqlite")

    copy = asyncio.run(test())
    log = copy.with_name("copy.sqlite-wal")
    before = log.read_bytes()
    discard_other(copy, RUN_ID)
    assert log.read_bytes() == before
    assert not copy.with_name("copy.sqlite-shm").exists()
    discard_other(copy, "digest/b")
    assert not log.exists()


@pytest.mark.parametrize("garbage", [False, True])
def test_what_is_no_journal_stays(tmp_path: Path, *, garbage: bool) -> None:
    path = tmp_path / "run.sqlite"
    if garbage:
        path.write_bytes(b"not a database at all" * 100)
    else:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("CREATE TABLE meta(key, value)")
            database.execute("INSERT INTO meta VALUES ('run_id', 'of a recorded run')")
    before = path.read_bytes()
    discard_other(path, "digest/a")
    assert path.read_bytes() == before


def test_a_journal_in_use_is_not_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"

    async def test() -> None:
        journal = open_journal(path, "digest/a", BrokerMetrics(CollectorRegistry()))
        with pytest.raises(InputError, match="is in use by process"):
            discard_other(path, "digest/b")
        await journal.close()

    asyncio.run(test())
