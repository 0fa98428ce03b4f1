"""Journals that a crash tore or that something damaged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from journal_files import crash, flush, journal_at, looped, opened, record

from edgefw.errors import InputError, JournalCorruptError
from edgefw.services.broker.journal.schema import PAGE
from edgefw.services.broker.journal.wal import Log, read_log

if TYPE_CHECKING:
    from collections.abc import Callable

COMMITS = 8
HEADER, FRAME = 32, 24 + PAGE  # bytes of a log's header and of each frame


async def crashed(folder: Path) -> Path:
    """Return a journal as a crash left it: its tables in the database, COMMITS feedbacks in its log."""
    path = folder / "open"
    async with opened(path):
        pass
    async with opened(path) as journal:
        for s in range(1, COMMITS + 1):
            await journal.keep(record(0, s, os.urandom(9000)))
        return crash(path, folder / "j")


async def rounds_in(path: Path) -> list[int]:
    async with opened(path) as journal:
        return [] if journal.restored is None else [row.round for row in journal.restored.rows]


def log_of(path: Path) -> Path:
    return Path(f"{path}-wal")


def change(path: Path, place: int, edit: Callable[[bytes], bytes], size: int = 1) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        old = file.read(size)
        file.seek(place)
        file.write(edit(old))


def read(path: str) -> bytes:
    return Path(path).read_bytes()


def flipped(data: bytes) -> bytes:
    return bytes(255 - each for each in data)


@looped
async def test_a_crash_leaves_every_commit_and_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = await crashed(tmp_path)
    log = read_log(log_of(path))
    assert len(log.commits) == COMMITS
    assert log.frames == log.commits[-1] == (log_of(path).stat().st_size - HEADER) // FRAME
    assert await rounds_in(path) == list(range(1, COMMITS + 1))
    assert not caplog.records


@looped
async def test_a_log_cut_anywhere_opens_to_the_last_complete_commit_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = await crashed(tmp_path)
    log = read_log(log_of(path))
    size = log_of(path).stat().st_size
    for number, cut in enumerate(range(0, size, 2999)):
        copy = crash(path, tmp_path / f"cut{number}")
        os.truncate(log_of(copy), cut)
        caplog.clear()
        frames = max(cut - HEADER, 0) // FRAME
        complete = [commit for commit in log.commits if commit <= frames]
        begun = max(cut - HEADER + FRAME - 24, 0) // FRAME  # with the one whose page is cut
        assert await rounds_in(copy) == list(range(1, len(complete) + 1))
        torn = begun - (complete[-1] if complete else 0)
        assert [entry.getMessage() for entry in caplog.records] == torn_tail(torn)


def torn_tail(frames: int) -> list[str]:
    text = "the journal's tail was torn: {} frames after the last complete commit were left out; "
    return [text.format(frames) + "nothing acknowledged is lost"] if frames else []


@looped
async def test_a_log_with_a_damaged_tail_opens_to_the_commit_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = await crashed(tmp_path)
    log = read_log(log_of(path))
    last = log.commits[-1] - log.commits[-2]
    for number, back in enumerate((1, PAGE // 2, last * FRAME - 30)):
        copy = crash(path, tmp_path / f"damaged{number}")
        change(log_of(copy), log_of(copy).stat().st_size - back, flipped)
        caplog.clear()
        assert await rounds_in(copy) == list(range(1, COMMITS))
        assert [entry.getMessage() for entry in caplog.records] == torn_tail(last)
        assert await rounds_in(copy) == list(range(1, COMMITS))  # it has gone on from there


@looped
async def test_a_damaged_frame_of_the_tail_that_says_it_ends_a_transaction_is_not_believed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = await crashed(tmp_path)
    log = read_log(log_of(path))
    last = log.commits[-1] - log.commits[-2]
    assert last > 1  # the frame that is damaged is not the last of its transaction
    change(log_of(path), HEADER + log.commits[-2] * FRAME + 7, flipped)
    assert read_log(log_of(path)) == log
    assert await rounds_in(path) == list(range(1, COMMITS))
    assert [entry.getMessage() for entry in caplog.records] == torn_tail(last)


@looped
async def test_a_log_damaged_before_its_tail_has_lost_commits_and_is_set_aside(tmp_path: Path) -> None:
    path = await crashed(tmp_path)
    for number, place in enumerate((10, HEADER + 8, HEADER + 2 * FRAME + 99)):
        copy = crash(path, tmp_path / f"damaged{number}")
        change(log_of(copy), place, flipped)
        damaged = log_of(copy).read_bytes()
        with pytest.raises(JournalCorruptError, match="its log is broken off after frame"):
            journal_at(copy)
        assert not copy.exists()
        assert read(f"{copy}.corrupt-1-wal") == damaged
        assert await rounds_in(copy) == []


async def closed(folder: Path, count: int = 20) -> Path:
    path = folder / "j"
    async with opened(path) as journal:
        await flush(journal)
        for s in range(1, count + 1):
            await journal.keep(record(0, s, b"payload!" * 500))
    return path


def header_gone(path: Path) -> None:
    change(path, 0, lambda old: bytes(len(old)), size=100)


def garbage(path: Path) -> None:
    path.write_bytes(b"this is not a database, but it is long enough to be taken for one. " * 99)


def payload_changed(path: Path) -> None:
    change(path, path.read_bytes().rindex(b"payload!"), flipped)


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE)


@pytest.mark.parametrize("damage", [header_gone, garbage, payload_changed, cut_short])
@looped
async def test_a_damaged_journal_is_set_aside_with_an_error_that_says_where(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = await closed(tmp_path)
    damage(path)
    before = path.read_bytes()
    with pytest.raises(JournalCorruptError, match=r"is damaged \(.+\): it was set aside as .*j\.corrupt-1; "):
        journal_at(path)
    assert not path.exists()
    assert read(f"{path}.corrupt-1") == before
    assert await rounds_in(path) == []  # the next one is empty


@looped
async def test_no_page_is_damaged_unnoticed(tmp_path: Path) -> None:
    path = await closed(tmp_path)
    for page in range(path.stat().st_size // PAGE):
        copy = Path(shutil.copyfile(path, tmp_path / f"page{page}"))
        change(copy, page * PAGE, flipped, size=PAGE)
        with pytest.raises(JournalCorruptError):
            journal_at(copy)


@looped
async def test_whatever_byte_is_changed_there_is_no_other_error(tmp_path: Path) -> None:
    path = await closed(tmp_path, count=4)
    outcomes: set[object] = set()
    for number, place in enumerate(range(0, path.stat().st_size, 37)):
        copy = Path(shutil.copyfile(path, tmp_path / f"byte{number}"))
        change(copy, place, flipped)
        try:
            outcomes.add(len(await rounds_in(copy)))
        except (JournalCorruptError, InputError) as error:
            outcomes.add(type(error))
    assert JournalCorruptError in outcomes
    assert 4 in outcomes  # an unused byte


@looped
async def test_nothing_that_was_set_aside_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "j"
    shutil.copyfile(__file__, f"{path}.corrupt-2-wal")
    for number in (1, 3):
        garbage(path)
        with pytest.raises(JournalCorruptError, match=f"corrupt-{number};"):
            journal_at(path)
    assert read(f"{path}.corrupt-2-wal") == read(__file__)
    assert read(f"{path}.corrupt-1") == read(f"{path}.corrupt-3")


@looped
async def test_a_damaged_database_is_set_aside_together_with_its_log(tmp_path: Path) -> None:
    path = await crashed(tmp_path)
    os.truncate(path, PAGE * 2)
    before = {suffix: read(f"{path}{suffix}") for suffix in ("", "-wal")}
    with pytest.raises(JournalCorruptError):
        journal_at(path)
    assert {suffix: read(f"{path}.corrupt-1{suffix}") for suffix in ("", "-wal")} == before


def test_a_log_that_was_never_written_is_no_damage(tmp_path: Path) -> None:
    assert read_log(tmp_path / "none") == Log()
    for content in (b"", b"\0" * 20, b"\0" * 9000):
        (tmp_path / "log").write_bytes(content)
        assert read_log(tmp_path / "log") == Log()
    (tmp_path / "log").write_bytes(b"\1" * 9000)
    assert not read_log(tmp_path / "log").readable


@looped
async def test_frames_from_before_the_log_was_reused_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "open"
    async with opened(path) as journal:
        for s in range(1, 5):
            await journal.keep(record(0, s, os.urandom(9000)))
        journal._writer._database.execute("PRAGMA wal_checkpoint(PASSIVE)").close()
        await journal.keep(record(0, 5))
        copy = crash(path, tmp_path / "j")
    log = read_log(log_of(copy))
    assert len(log.commits) == 1
    assert log.frames < (log_of(copy).stat().st_size - HEADER) // FRAME
    assert await rounds_in(copy) == [1, 2, 3, 4, 5]


@looped
async def test_a_header_that_was_being_written_anew_is_no_damage_where_the_database_has_it_all(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = await crashed(tmp_path)
    spent = crash(path, tmp_path / "spent")
    log = log_of(spent).read_bytes()
    assert await rounds_in(spent) == list(range(1, COMMITS + 1))  # from now on all of it is in the database
    for number, place in enumerate(range(0, HEADER, 5)):
        copy = tmp_path / f"header{number}"
        shutil.copyfile(spent, copy)
        log_of(copy).write_bytes(log)
        change(log_of(copy), place, flipped)
        caplog.clear()
        assert await rounds_in(copy) == list(range(1, COMMITS + 1))
        (told,) = caplog.records
        assert "being begun anew" in told.getMessage()


@looped
async def test_what_was_in_a_log_with_a_damaged_header_is_not_taken_for_what_came_after_it(
    tmp_path: Path,
) -> None:
    path = await crashed(tmp_path)
    spent = crash(path, tmp_path / "spent")
    log = log_of(spent).read_bytes()
    assert await rounds_in(spent) == list(range(1, COMMITS + 1))
    for place in range(12, 16):  # a number of the log's use: the salts are as they were
        copy = tmp_path / f"header{place}"
        shutil.copyfile(spent, copy)
        log_of(copy).write_bytes(log)
        change(log_of(copy), place, flipped)
        async with opened(copy) as journal:
            await journal.keep(record(0, COMMITS + 1))
            after = crash(copy, tmp_path / f"after{place}")
        assert await rounds_in(after) == list(range(1, COMMITS + 2))
