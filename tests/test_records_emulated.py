"""The database of a run under way: what was added stays, can be read meanwhile, and is of one run only."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edgefw.errors import InputError, RecordError
from edgefw.records import PlayRow, RunDatabase, RunFolder, content_hash, environment, play_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

META = {"digest": "abc", "mode": "up"}
ROWS = [
    PlayRow(1, 0, 0.1, 0.2, (), 1, "00ff", None),
    PlayRow(1, 1, 0.1 + 0.2, 1e-300, (), 1, "11ff", b"\0\1\2\3"),
    PlayRow(2, 0, 1.0, 2.0, (1,), 1, "22ff", None),
]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "a run? 100% #1", "seed: 1\n")


def test_rows_can_be_read_while_others_are_written(folder: RunFolder) -> None:
    database = RunDatabase(folder, META)
    assert folder.rows() == []
    database.add(ROWS[:2], {"wall_seconds": "1.5"})
    assert folder.rows() == ROWS[:2]
    database.add(ROWS[2:], {"wall_seconds": "2.5"})
    assert folder.rows() == ROWS
    assert folder.meta() == META | {"wall_seconds": "2.5", "ended": "no"}
    database.close()
    assert folder.rows() == ROWS


def test_rows_and_facts_are_added_together_or_not_at_all(folder: RunFolder) -> None:
    database = RunDatabase(folder, META)
    database.add(ROWS[:1], {})
    with pytest.raises(sqlite3.IntegrityError):
        database.add([ROWS[1], ROWS[0]], {"wall_seconds": "9"})
    database.close()
    assert folder.rows() == ROWS[:1]
    assert folder.meta() == META | {"ended": "no"}


def test_a_closed_database_is_one_file_that_needs_no_right_to_write(folder: RunFolder) -> None:
    database = RunDatabase(folder, META)
    database.add(ROWS, {})
    database.close()
    assert sorted(path.name for path in folder.path.iterdir()) == ["run.sqlite", "scenario.yaml"]
    with closing(sqlite3.connect(folder.path / "run.sqlite")) as plain:
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_database_can_be_closed_while_somebody_reads_it(folder: RunFolder) -> None:
    database = RunDatabase(folder, META)
    database.add(ROWS, {})
    with closing(sqlite3.connect(folder.path / "run.sqlite")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM plays").fetchone()
        database.close()
    assert folder.rows() == ROWS


def test_a_folder_that_is_gone_is_wrong_input(folder: RunFolder) -> None:
    with pytest.raises(InputError, match=r"cannot write .*run\.sqlite: unable to open database file"):
        RunDatabase(RunFolder(folder.path / "nowhere"), META)


def test_a_run_that_was_cut_short_is_gone_on_with(folder: RunFolder) -> None:
    first = RunDatabase(folder, META)
    first.add(ROWS[:2], {"wall_seconds": "1.5"})
    first.close()
    second = RunDatabase(folder, META)
    assert first.before == {}
    assert second.before == META | {"wall_seconds": "1.5", "ended": "no"}
    second.add(ROWS[2:], {})
    second.close()
    assert folder.rows() == ROWS
    assert folder.meta()["wall_seconds"] == "1.5"


def test_the_database_of_another_run_is_left_alone(folder: RunFolder) -> None:
    database = RunDatabase(folder, META)
    database.add(ROWS, {})
    database.close()
    with pytest.raises(InputError, match="is of scenario abc, this one is xyz: give another --out"):
        RunDatabase(folder, {"digest": "xyz"})
    assert folder.rows() == ROWS


def test_a_file_that_is_no_database_is_set_aside(folder: RunFolder) -> None:
    garbage = b"not a database, but long enough to be looked at" * 100
    (folder.path / "run.sqlite").write_bytes(garbage)
    with pytest.raises(InputError, match=r"cannot read .*run\.sqlite: file is not a database"):
        folder.rows()
    with pytest.raises(
        RecordError, match=r"run\.sqlite is damaged \(file is not a database\): it was set aside"
    ):
        RunDatabase(folder, META)
    assert (folder.path / "run.sqlite.corrupt-1").read_bytes() == garbage


def test_a_database_with_a_ruined_page_is_set_aside_with_its_log(folder: RunFolder) -> None:
    first = RunDatabase(folder, META)
    first.add([PlayRow(t, 0, 0.1, 0.2, (), 1, "00ff", None) for t in range(1, 2000)], {})
    first.close()
    path = folder.path / "run.sqlite"
    pages = bytearray(path.read_bytes())
    pages[len(pages) // 2 :] = bytes(len(pages) - len(pages) // 2)
    path.write_bytes(pages)
    (folder.path / "run.sqlite-wal").write_bytes(b"")
    with pytest.raises(
        RecordError, match=r"is damaged \(.*\): it was set aside as .*corrupt-1; the run cannot"
    ):
        RunDatabase(folder, META)
    assert not path.exists()
    assert (folder.path / "run.sqlite.corrupt-1").read_bytes() == pages


def test_rows_outlive_a_process_that_is_killed(folder: RunFolder) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from edgefw.records import PlayRow, RunDatabase, RunFolder\n"
        "database = RunDatabase(RunFolder(Path(sys.argv[1])), {'digest': 'abc', 'mode': 'up'})\n"
        "database.add([PlayRow(1, 0, 0.1, 0.2, (), 1, '00ff', None)], {})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(folder.path)], check=False, timeout=60)
    assert ended.returncode == -9
    assert folder.rows() == ROWS[:1]
    RunDatabase(folder, META).close()
    assert folder.rows() == ROWS[:1]


def test_a_folder_made_for_the_run_is_adopted_and_a_new_one_made(tmp_path: Path) -> None:
    made = RunFolder.adopt(tmp_path / "new", "seed: 1\n")
    assert made.scenario_path.read_text() == "seed: 1\n"
    again = RunFolder.adopt(tmp_path / "new", "seed: 2\n")
    assert again.scenario_path.read_text() == "seed: 1\n"


@settings(deadline=None, max_examples=50)
@given(arrays(np.float32, (2, 3), elements=st.floats(width=32, allow_nan=False)))
def test_a_hash_is_of_the_bits_of_a_play(point: NDArray[np.float32]) -> None:
    found = content_hash(play_bytes(point))
    assert found == hashlib.blake2b(point.astype("<f4").tobytes(), digest_size=16).hexdigest()
    assert found == content_hash(play_bytes(np.asfortranarray(point)))
    assert found == content_hash(play_bytes(point.astype(">f4")))
    changed = point.copy()
    changed.view(np.uint32)[1, 1] ^= 1  # the last bit
    assert found != content_hash(play_bytes(changed))


@pytest.mark.parametrize("size", [0, 1, 2046, 2047, 2048, 4094, 9001])
def test_a_hash_is_that_of_the_whole_whatever_its_size(size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    assert content_hash(content) == hashlib.blake2b(content, digest_size=16).hexdigest()


def test_zero_and_minus_zero_are_different_plays() -> None:
    assert content_hash(play_bytes(np.array([[0.0]]))) != content_hash(play_bytes(np.array([[-0.0]])))


def test_the_environment_says_what_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = environment()
    assert found["numpy"] == np.__version__
    assert set(found) == {"numpy", "blas", "blas_core", "simd", "machine"}
    assert found == environment()
    config: dict[str, Any] = {"Build Dependencies": {"blas": {"name": "none"}}, "SIMD Extensions": {}}
    monkeypatch.setattr(np, "show_config", lambda mode: config if mode == "dicts" else None)
    assert (environment()["blas"], environment()["simd"]) == ("none", "")
