"""The folder of an agent: what it finds there after a kill, and after whatever has become of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from edgefw.services.agent.checkpoints import CheckpointFolder, Found
from edgefw.services.agent.sealed import seal

if TYPE_CHECKING:
    from pathlib import Path

EVERY = 3


def record(t: int) -> bytes:
    return seal({"sweep": t, "dropped": []}, {str(t - 1): np.full(4, t, np.uint8)})


def played(folder: Path, rounds: int) -> CheckpointFolder:
    """Return the files of an agent that was killed in sweep rounds + 1, before it had a record."""
    files = CheckpointFolder(folder)
    files.begin("run", EVERY)
    for t in range(1, rounds + 1):
        files.append(t, record(t))
        if t % EVERY == 0:
            files.keep(t, seal({"after": t}, {"x": np.full(3, float(t))}))
    files.close()
    return files


def found(folder: Path) -> Found:
    there = CheckpointFolder(folder).find()
    assert there is not None
    return there


@pytest.mark.parametrize(
    ("rounds", "begin", "older"), [(0, 0, None), (2, 0, None), (3, 3, 0), (5, 3, 0), (6, 6, 3), (20, 18, 15)]
)
def test_an_agent_begins_with_its_last_checkpoint_and_has_all_sweeps_after_it(
    tmp_path: Path, rounds: int, begin: int, older: int | None
) -> None:
    played(tmp_path / "new" / "folder", rounds)
    there = found(tmp_path / "new" / "folder")
    assert (there.run_id, there.round, there.older) == ("run", begin, older)
    assert (there.checkpoint is None) == (begin == 0)
    if there.checkpoint is not None:
        assert there.checkpoint.words == {"after": begin}
        assert there.checkpoint.arrays["x"].tolist() == [begin] * 3
    assert list(there.records) == list(range(begin + 1, rounds + 1))
    assert all(each.arrays[str(t - 1)].tolist() == [t] * 4 for t, each in there.records.items())


def test_two_checkpoints_and_what_comes_after_them_are_all_that_is_kept(tmp_path: Path) -> None:
    played(tmp_path, 20)
    kept = {"run", "checkpoint-0000015", "checkpoint-0000018", "arrivals-0000015", "arrivals-0000018"}
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_going_back_begins_with_the_older_one_and_what_follows_is_kept_anew(tmp_path: Path) -> None:
    files = played(tmp_path, 20)
    files.go_back(18)
    there = found(tmp_path)
    assert (there.round, list(there.records), there.older) == (15, [16, 17, 18, 19, 20], None)
    files.keep(18, seal({"after": 18}, {}))
    files.append(21, record(21))
    there = found(tmp_path)
    assert (there.round, list(there.records), there.older) == (18, [19, 20, 21], 15)


def test_a_damaged_checkpoint_is_set_aside_and_the_older_one_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    played(tmp_path, 20)
    path = tmp_path / "checkpoint-0000018"
    path.write_bytes(path.read_bytes()[:-1])
    there = found(tmp_path)
    assert (there.round, list(there.records)) == (15, [16, 17, 18, 19, 20])
    assert caplog.messages == [
        f"{path} is damaged: it ends too early: it is set aside, and an older one is used"
    ]
    assert (tmp_path / "checkpoint-0000018.damaged").exists()
    assert found(tmp_path).round == 15  # and nobody looks at it again


@pytest.mark.parametrize("left", range(0, len(record(20)), 7))
def test_a_record_that_was_being_written_is_none_and_the_next_takes_its_place(
    tmp_path: Path, left: int
) -> None:
    files = played(tmp_path, 19)
    path = tmp_path / "arrivals-0000018"
    path.write_bytes(path.read_bytes() + record(20)[:left])
    assert list(found(tmp_path).records) == [19]
    files = CheckpointFolder(tmp_path)
    assert files.find() is not None
    files.append(20, record(20))
    assert list(found(tmp_path).records) == [19, 20]


def test_a_record_with_a_wrong_byte_that_others_follow_was_confirmed_so_the_run_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    played(tmp_path, 20)
    path = tmp_path / "arrivals-0000018"
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    assert CheckpointFolder(tmp_path).find() is None
    assert f"{path} is damaged at byte 0" in caplog.text
    assert "this agent has lost its run" in caplog.text


def test_a_missing_file_of_arrivals_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    played(tmp_path, 20)
    (tmp_path / "checkpoint-0000018").unlink()
    (tmp_path / "arrivals-0000015").unlink()
    assert CheckpointFolder(tmp_path).find() is None
    assert "lacks arrivals that are needed to go on" in caplog.text


def test_another_run_begins_with_an_empty_folder(tmp_path: Path) -> None:
    files = played(tmp_path, 20)
    files.begin("another", EVERY)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert found(tmp_path) == Found("another")


def test_in_an_empty_folder_there_is_nothing_to_go_on_with(tmp_path: Path) -> None:
    assert CheckpointFolder(tmp_path / "none").find() is None
