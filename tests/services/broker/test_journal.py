"""A journal while it runs: groups of commits, notes, failures."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from typing import TYPE_CHECKING, Any, cast

import pytest
from journal_files import (
    RUN_ID,
    commits,
    crash,
    flush,
    journal_at,
    looped,
    metrics,
    opened,
    record,
)
from waiting import eventually

from edgefw.errors import InputError, JournalError
from edgefw.services.broker.journal import MemoryJournal, Restored, State, Tuning, open_journal
from edgefw.services.broker.journal.batch import Batch
from edgefw.services.machine import Clocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE = 10.0


async def restored(path: Path) -> Restored:
    async with opened(path) as journal:
        assert journal.restored is not None
        return journal.restored


@looped
async def test_many_in_flight_are_one_commit_and_one_wake_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed = metrics()
    async with opened(tmp_path / "j", observed=observed) as journal:
        woken: list[object] = []
        do = journal._worker.do

        async def counted(work: Callable[..., Any], *arguments: Any) -> Any:
            woken.append(work)
            return await do(work, *arguments)

        monkeypatch.setattr(journal._worker, "do", counted)
        await asyncio.gather(*(journal.keep(record(a, s)) for a in range(4) for s in range(1, 101)))
        assert len(woken) == commits(observed) == 1
    rows = (await restored(tmp_path / "j")).rows
    assert [(row.agent, row.round) for row in rows] == [(a, s) for a in range(4) for s in range(1, 101)]


@looped
async def test_the_loop_goes_on_while_a_commit_takes_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed, begun, go_on = metrics(), threading.Event(), threading.Event()
    write = Batch.write

    def slow(batch: Batch, database: sqlite3.Connection) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        write(batch, database)

    async with opened(tmp_path / "j", observed=observed) as journal:
        monkeypatch.setattr(Batch, "write", slow)
        kept = [journal.keep(record(0, 1))]
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        for s in range(2, 50):
            await asyncio.sleep(0)
            kept.append(journal.keep(record(0, s)))
        assert not any(future.done() for future in kept)
        go_on.set()
        await asyncio.gather(*kept)
    assert commits(observed) == 2  # the first, then all that came meanwhile


@looped
async def test_what_is_kept_comes_back_as_it_was(tmp_path: Path) -> None:
    one = record(3, 7, b"\0" * 9000, norm=1e-300, rank=1 / 3, version=2)
    async with opened(tmp_path / "j") as journal:
        assert journal.restored is None
        journal.note_start(123)
        journal.note_collected(3, 6)
        await asyncio.gather(journal.keep_plan(1, "old"), journal.keep_plan(2, "née"), journal.keep(one))
        await journal.keep(record(0, 1, dropped=True))
    known = await restored(tmp_path / "j")
    assert (known.start, known.plans, known.floors, known.collected) == (123, {2: "née"}, {}, {3: 6})
    dropped, row = known.rows
    assert (dropped.state, dropped.payload) == (State.DROPPED, None)
    assert row == (3, 7, one.accepted, 2, 1e-300, 1 / 3, State.PENDING, b"\0" * 9000)


@looped
async def test_notes_are_written_without_anything_being_kept(tmp_path: Path) -> None:
    observed = metrics()
    async with opened(tmp_path / "j", observed=observed) as journal:
        await asyncio.gather(*(journal.keep(record(0, s)) for s in range(1, 5)))
        before = commits(observed)
        journal.note_sent(0, [1, 2])
        journal.note_done(0, [2, 3])
        journal.note_sent(0, [3])  # a state never goes back
        await eventually(lambda: commits(observed) > before)
        known = await restored(crash(tmp_path / "j", tmp_path / "copy"))
    assert [row.state for row in known.rows] == [State.SENT, State.DONE, State.DONE, State.PENDING]
    assert [row.payload is None for row in known.rows] == [False, True, True, False]


@looped
async def test_a_note_may_come_before_the_commit_of_what_it_is_about(tmp_path: Path) -> None:
    async with opened(tmp_path / "j") as journal:
        kept = [journal.keep(record(0, s)) for s in (1, 2)]
        journal.note_sent(0, (1, 2))
        journal.note_done(0, (1,))
        journal.note_done(0, (9,))  # of nothing that is kept: void
        await asyncio.gather(*kept)
    rows = (await restored(tmp_path / "j")).rows
    assert [(row.round, row.state) for row in rows] == [(1, State.DONE), (2, State.SENT)]


@looped
async def test_a_note_is_void_if_its_feedback_is_kept_only_afterwards(tmp_path: Path) -> None:
    async with opened(tmp_path / "j") as journal:
        journal.note_done(0, (1,))
        await journal.keep(record(0, 1))
    assert [row.state for row in (await restored(tmp_path / "j")).rows] == [State.PENDING]


@looped
async def test_notes_that_were_left_over_come_before_the_next_batch(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    first, second = Batch(), Batch()
    first.note(0, (1, 2, 3), State.SENT)
    first.note_collected(0, 5)
    first.note_collected(1, 5)
    first.note_start(7)
    second.keep(record(0, 1), loop.create_future())
    second.note(0, (2,), State.DONE)
    second.note_collected(0, 6)
    second.inherit(first.debts())
    async with opened(tmp_path / "j") as journal:
        await asyncio.gather(*(journal.keep(record(0, s)) for s in (2, 3)))
        second.write(journal._writer._database)
    known = await restored(tmp_path / "j")
    assert [row.state for row in known.rows] == [State.PENDING, State.DONE, State.SENT]
    assert (known.collected, known.start) == ({0: 6, 1: 5}, 7)


@looped
async def test_done_rounds_collapse_into_a_floor_and_the_recent_ones_stay(tmp_path: Path) -> None:
    small = Tuning(recent=100, compact_every=50)
    async with opened(tmp_path / "j", small) as journal:
        for first in range(1, 1001, 50):
            rounds = range(first, first + 50)
            await asyncio.gather(*(journal.keep(record(a, s)) for a in (0, 5) for s in rounds))
            journal.note_done(0, rounds)
            journal.note_done(5, [s for s in rounds if s not in {700, 701}])
        for _ in range(30):
            await flush(journal)
    known = await restored(tmp_path / "j")
    assert known.floors == {0: 900, 5: 699}
    assert [row.round for row in known.rows if row.agent == 0] == list(range(901, 1001))
    assert [row.round for row in known.rows if row.agent == 5] == list(range(700, 1001))
    assert [row.round for row in known.rows if row.payload is not None] == [700, 701]


@looped
async def test_only_what_is_done_or_dropped_stays_so_and_goes(tmp_path: Path) -> None:
    async with opened(tmp_path / "j", Tuning(recent=0, compact_every=1)) as journal:
        for s in (1, 2, 3):
            await journal.keep(record(0, s, dropped=s == 2))
        journal.note_done(0, (2,))
        journal.note_sent(0, (1, 2, 3))
        for _ in range(5):
            await flush(journal)
    known = await restored(tmp_path / "j")
    assert [row.state for row in known.rows] == [State.SENT, State.DROPPED, State.SENT]
    assert not known.floors


@looped
async def test_a_gap_stops_the_floor(tmp_path: Path) -> None:
    async with opened(tmp_path / "j", Tuning(recent=0, compact_every=1)) as journal:
        for s in (1, 2, 4, 5):
            await journal.keep(record(0, s))
        journal.note_done(0, (1, 2, 4, 5))
        for _ in range(5):
            await flush(journal)
        known = await restored(crash(tmp_path / "j", tmp_path / "copy"))
        assert (known.floors, [row.round for row in known.rows]) == ({0: 2}, [4, 5])
        await journal.keep(record(0, 3, dropped=True))
        for _ in range(5):
            await flush(journal)
    known = await restored(tmp_path / "j")
    assert (known.floors, known.rows) == ({0: 5}, [])


@looped
async def test_plans_go_when_nothing_pending_refers_to_them(tmp_path: Path) -> None:
    async with opened(tmp_path / "j", Tuning(compact_every=1)) as journal:
        for version in range(1, 6):
            await flush(journal, version)
            await journal.keep(record(0, version, version=version))
        journal.note_sent(0, (2, 3))
        journal.note_done(0, (1, 3))
        for _ in range(5):
            await flush(journal, 5)
        found = journal._writer._database.execute("SELECT version FROM plan ORDER BY version").fetchall()
        assert [version for (version,) in found] == [2, 4, 5]
        journal.note_done(0, (5,))
        for version in (6, 7, 8, 8, 8):  # not in force so far: feedback is still accepted under 5
            await flush(journal, version)
        await journal.keep(record(0, 6, version=5))
    assert set((await restored(tmp_path / "j")).plans) == {2, 4, 5, 8}


@looped
async def test_the_file_stays_small_while_feedback_comes_and_goes(tmp_path: Path) -> None:
    async with opened(tmp_path / "j", Tuning(recent=10, compact_every=100)) as journal:
        for first in range(1, 2001, 100):
            rounds = range(first, first + 100)
            await asyncio.gather(*(journal.keep(record(0, s, bytes(9000))) for s in rounds))
            journal.note_done(0, rounds)
            await flush(journal)
    assert (tmp_path / "j").stat().st_size < 300 * 9000  # of 2000 that were written


@looped
async def test_closing_writes_what_is_left_and_refuses_what_comes_after(tmp_path: Path) -> None:
    journal = journal_at(tmp_path / "j")
    kept = journal.keep(record(0, 1))
    journal.note_sent(0, (1,))
    await journal.close()
    await kept
    with pytest.raises(JournalError, match="closed"):
        await journal.keep(record(0, 2))
    with pytest.raises(JournalError, match="closed"):
        await journal.keep_plan(1, "")
    journal.note_done(0, (1,))
    await journal.close()
    assert not journal.failed.done()
    assert [row.state for row in (await restored(tmp_path / "j")).rows] == [State.SENT]
    assert not (tmp_path / "j-wal").exists()


@looped
async def test_whoever_gives_up_waiting_does_no_harm(tmp_path: Path) -> None:
    async with opened(tmp_path / "j") as journal:
        journal.keep(record(0, 1)).cancel()
        await journal.keep(record(0, 2))
    assert len((await restored(tmp_path / "j")).rows) == 2


@looped
async def test_an_error_of_the_database_ends_the_journal_in_one_line(tmp_path: Path) -> None:
    journal = journal_at(tmp_path / "j")
    await journal.keep(record(0, 1))
    journal._writer._database.execute("DROP TABLE payload")
    kept = journal.keep(record(0, 2))
    with pytest.raises(
        JournalError, match=r"cannot be written \(no such table: payload\): .*start"
    ) as raised:
        await asyncio.wait_for(asyncio.shield(journal.failed), PATIENCE)
    for future in (kept, journal.keep(record(0, 3))):
        with pytest.raises(JournalError) as again:
            await future
        assert str(again.value) == str(raised.value)
    await journal.close()


@looped
async def test_nobody_waits_for_a_writer_that_has_died_and_the_log_says_of_what(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = journal_at(tmp_path / "j")
    nonsense: Any = None
    kept = journal.keep(record(0, 1, nonsense))
    with pytest.raises(JournalError, match="unexpectedly"):
        await asyncio.wait_for(kept, PATIENCE)
    assert isinstance(journal.failed.exception(), JournalError)
    await journal.close()
    assert "was ended by a mistake of this program" in caplog.text
    assert "TypeError" in caplog.text


@looped
async def test_nobody_waits_for_a_database_that_cannot_even_be_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    journal = journal_at(tmp_path / "j")
    close, nonsense = journal._writer.close, cast("Any", None)

    def cannot_close() -> None:
        close()
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(journal._writer, "close", cannot_close)
    kept = journal.keep(record(0, 1, nonsense))
    with pytest.raises(JournalError, match="unexpectedly"):
        await asyncio.wait_for(kept, PATIENCE)
    await journal.close()
    assert "disk I/O error" in caplog.text


@looped
async def test_one_broker_at_a_time(tmp_path: Path) -> None:
    async with opened(tmp_path / "j") as journal:
        with pytest.raises(InputError, match=r"is in use by process \d+: stop that broker"):
            journal_at(tmp_path / "j")
        await journal.keep(record(0, 1))
    assert len((await restored(tmp_path / "j")).rows) == 1


@looped
async def test_in_memory_everything_is_kept_at_once_and_said_to_be_throw_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        journal = open_journal(None, RUN_ID, metrics())
    assert isinstance(journal, MemoryJournal)
    assert [entry.getMessage() for entry in caplog.records] == [
        "feedback is held in memory only: a crash loses it; this run is to be thrown away"
    ]
    assert journal.keep(record(0, 1)).done()
    assert journal.keep_plan(1, "").done()
    journal.note_start(1)
    journal.note_sent(0, (1,))
    journal.note_done(0, (1,))
    journal.note_collected(0, 1)
    assert journal.restored is None
    assert journal.timeline.moment(journal.timeline.real(1.5)) == 1.5
    await journal.close()
    assert not journal.failed.done()


@looped
async def test_the_timeline_is_that_of_the_journal(tmp_path: Path) -> None:
    def clocks(monotonic: int, real: int, boot: str) -> Clocks:
        return Clocks(lambda: monotonic, lambda: real, lambda: boot)

    offsets = []
    for moment in (clocks(5, 10**18, "a"), clocks(9, 2 * 10**18, "a"), clocks(3, 10**18 + 9, "b")):
        journal = journal_at(tmp_path / "j", clocks=moment)
        offsets.append(journal.timeline.offset)
        await journal.close()
    journal = journal_at(tmp_path / "j", clocks=clocks(99, 1, "b"))
    await journal.close()
    assert [*offsets, journal.timeline.offset] == [10**18 - 5, 10**18 - 5, 10**18 + 6, 10**18 + 6]


@looped
async def test_what_was_dropped_after_it_was_accepted_is_known_as_such(tmp_path: Path) -> None:
    async with opened(tmp_path / "j") as journal:
        await asyncio.gather(*(journal.keep(record(0, s)) for s in (1, 2)))
        journal.note_dropped(0, [2])
    rows = (await restored(tmp_path / "j")).rows
    assert [(row.round, row.state, row.payload is None) for row in rows] == [
        (1, State.PENDING, False),
        (2, State.DROPPED, True),
    ]
