"""A journal without room: what is acknowledged stays, nothing else is kept, and it recovers."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest
from journal_files import commits, crash, flush, journal_at, looped, metrics, opened, record
from small_disk import mounted, remount
from waiting import eventually

from edgefw.errors import JournalFullError
from edgefw.services.broker.journal import State, Tuning
from edgefw.services.broker.journal.schema import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from edgefw.services.broker.journal import SqliteJournal

SMALL = Tuning(limit=100 * PAGE)
BIG = 9000  # bytes of a payload


async def fill(journal: SqliteJournal, first: int = 1, size: int = BIG) -> int:
    """Keep feedback of agent 0 from round `first` on; return the first round for which there is no room."""
    for s in range(first, 10_000):
        try:
            await journal.keep(record(0, s, bytes([s % 256]) * size))
        except JournalFullError:
            return s
    pytest.fail("there is always room")


async def pending_in(path: Path) -> list[int]:
    async with opened(path) as journal:
        assert journal.restored is not None
        return [row.round for row in journal.restored.rows if row.state < State.DONE]


@looped
async def test_at_its_limit_it_refuses_keeps_what_it_has_and_goes_on_when_some_is_done(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        async with opened(tmp_path / "j", SMALL) as journal:
            await flush(journal)
            full = await fill(journal)
            assert full > 20
            text = r"has no room \(database or disk is full\): make room on its disk, or wait"
            for s in (full, full + 1):
                with pytest.raises(JournalFullError, match=text):
                    await journal.keep(record(0, s, bytes(BIG)))
            journal.note_done(0, range(1, 11))
            again = await fill(journal, first=full)
            assert again >= full + 8
            assert not journal.failed.done()
    assert await pending_in(tmp_path / "j") == list(range(11, again))
    assert (tmp_path / "j").stat().st_size <= SMALL.limit
    messages = [entry.getMessage() for entry in caplog.records]
    assert [message.endswith("has room again") for message in messages] == [False, True, False]


@looped
async def test_those_of_a_batch_fail_together_and_its_notes_are_not_lost(tmp_path: Path) -> None:
    async with opened(tmp_path / "j", SMALL) as journal:
        await flush(journal)
        full = await fill(journal)
        journal.note_sent(0, [1])
        journal.note_done(0, [2])
        kept = [journal.keep(record(1, s, bytes(BIG))) for s in range(1, 30)]
        plan = journal.keep_plan(2, "plan")
        results = await asyncio.gather(*kept, plan, return_exceptions=True)
        assert {type(result) for result in results} == {JournalFullError}
    async with opened(tmp_path / "j") as journal:
        assert journal.restored is not None
        rows = journal.restored.rows
        assert journal.restored.plans == {1: "plan 1"}
    assert {row.agent for row in rows} == {0}
    assert [row.state for row in rows] == [State.SENT, State.DONE] + [State.PENDING] * (full - 3)


@looped
async def test_a_note_on_what_was_not_kept_says_nothing_about_its_next_submission(tmp_path: Path) -> None:
    async with opened(tmp_path / "j", SMALL) as journal:
        full = await fill(journal)
        kept = [journal.keep(record(0, s, bytes(BIG))) for s in (full, full + 1)]
        journal.note_done(0, [full])
        assert len(await asyncio.gather(*kept, return_exceptions=True)) == 2
        assert all(isinstance(future.exception(), JournalFullError) for future in kept)
        journal.note_done(0, range(1, 6))
        await journal.keep(record(0, full, bytes(BIG)))
    assert full in await pending_in(tmp_path / "j")


@looped
async def test_a_note_needs_no_room(tmp_path: Path) -> None:
    observed = metrics()
    async with opened(tmp_path / "j", Tuning(limit=20 * PAGE), observed) as journal:
        await flush(journal)
        full = await fill(journal, size=9)
        before = commits(observed)
        journal.note_done(0, range(1, 61))  # each row grows by a byte, and no page has so many to spare
        with pytest.raises(JournalFullError):
            await journal.keep_plan(2, "long" * PAGE)
        await eventually(lambda: commits(observed) > before)
        copy = crash(tmp_path / "j", tmp_path / "copy")
    assert await pending_in(copy) == list(range(61, full))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk") as disk:
        yield disk


@looped
async def test_on_a_full_disk_it_refuses_and_recovers_when_there_is_room(small_disk: Path) -> None:
    async with opened(small_disk / "j") as journal:
        await flush(journal)
        full = await fill(journal)
        journal.note_done(0, [1, 2])
        with pytest.raises(JournalFullError):
            await journal.keep(record(0, full, bytes(BIG)))
        remount(small_disk, "size=16m")
        for s in range(full, full + 50):
            await journal.keep(record(0, s, bytes(BIG)))
        assert not journal.failed.done()
    assert await pending_in(small_disk / "j") == list(range(3, full + 50))


@looped
async def test_a_broker_that_starts_on_a_full_disk_has_all_that_was_acknowledged(small_disk: Path) -> None:
    async with opened(small_disk / "j") as journal:
        await flush(journal)
        full = await fill(journal)
    journal = journal_at(small_disk / "j")
    assert journal.restored is not None
    assert [row.round for row in journal.restored.rows] == list(range(1, full))
    again = await fill(journal, first=full)
    journal.note_done(0, [1])
    remount(small_disk, "size=16m")
    await journal.keep(record(0, again, bytes(BIG)))
    await journal.close()
    assert await pending_in(small_disk / "j") == list(range(2, again + 1))


@looped
async def test_a_disk_without_room_for_a_new_journal_is_said_to_be_full(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "other").write_bytes(bytes(2**22))
    with pytest.raises(JournalFullError, match=r"no room for the journal .*: make room on its disk"):
        journal_at(small_disk / "j")
