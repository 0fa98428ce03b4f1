"""A replay finds every play identical, and whatever was changed in the record."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import playback
import pytest
from recorded_run import meta, recorded

from edgefw.commands import verify as command
from edgefw.errors import EdgefwError, InputError, RecordError, UnverifiedError
from edgefw.experiments import runner
from edgefw.records import RunFolder, content_hash
from edgefw.scenario.setup import resolve
from edgefw.verification.arrivals import CUT_SHORT
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from pathlib import Path

CENTRALIZED = {"network": {"agents": 1}, "delays": [{"type": "rounds", "rounds": 3, "jitter": 2}]}


def change(folder: RunFolder, statement: str, *values: str) -> None:
    with closing(sqlite3.connect(folder.path / "run.sqlite")) as database, database:
        assert database.execute(statement, values).rowcount > 0


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"network": {"agents": 4, "topology": "star"}, "clock": "wall", "pace": "250ms", "delays": []},
        {"algorithm": {"horizon": 9, "oracle": "ogd"}},
        {"algorithm": {"horizon": 9, "name": "distributed-dgd"}},
        CENTRALIZED | {"algorithm": {"horizon": 9, "name": "bold-mfw"}},
        CENTRALIZED | {"algorithm": {"horizon": 9, "name": "dofw"}},
    ],
)
def test_every_play_of_a_run_is_found_identical(tmp_path: Path, changes: dict[str, Any]) -> None:
    run = read(recorded(tmp_path / "run", **changes))
    seen: list[int] = []
    verdict = verify(run, seen.append)
    assert verdict.passed
    assert verdict.mismatch is None
    assert verdict.identical == verdict.plays == len(run.rounds) * run.setup.n
    assert verdict.deviation == 0
    assert seen == list(range(1, run.setup.rounds + 1))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE plays SET hash = 'f' || substr(hash, 2)", "round 6, agent 2: the play's hash is f"),
        ("UPDATE plays SET local_loss = local_loss + 1e-15", "round 6, agent 2: the local loss is"),
        ("UPDATE plays SET global_loss = global_loss * 1.001", "round 6, agent 2: the global loss is"),
    ],
)
def test_a_changed_record_is_found_and_named(tmp_path: Path, statement: str, expected: str) -> None:
    folder = recorded(tmp_path / "run")
    change(folder, "DELETE FROM points")
    change(folder, f"{statement} WHERE round = 6 AND agent = 2")
    verdict = verify(read(folder))
    assert not verdict.passed
    assert verdict.identical == verdict.plays - 1
    assert verdict.mismatch is not None
    assert verdict.mismatch.startswith(expected)
    with pytest.raises(EdgefwError, match=expected) as failure:
        command.run(str(folder.path))
    assert failure.value.exit_code == 1


def test_feedback_that_came_a_round_later_than_recorded_changes_plays(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run", delays=[])
    change(folder, "UPDATE plays SET arrivals = '[]' WHERE round = 4 AND agent = 1")
    change(folder, "UPDATE plays SET arrivals = '[3,4]' WHERE round = 5 AND agent = 1")
    verdict = verify(read(folder))
    assert not verdict.passed
    assert verdict.mismatch is not None
    assert verdict.mismatch.startswith("round 4, agent ")
    assert verdict.identical >= 3 * 4


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE points SET point = zeroblob(length(point))", "kept whole is not the one that was hashed"),
        ("UPDATE points SET point = 'text'", "the play is no play"),
        ("UPDATE plays SET hash = NULL", "the play has no hash"),
        ("UPDATE plays SET local_loss = 'cheap'", "the local loss is 'cheap'"),
        ("UPDATE plays SET global_loss = 9e999", "the global loss is inf"),
        ("UPDATE plays SET outstanding = -1", "-1 feedbacks are said to be outstanding"),
        ("UPDATE plays SET arrivals = '[1'", "the arrivals are '.1', which is no list of rounds"),
        ("UPDATE plays SET arrivals = '{}'", "the arrivals are '{}', which is no list of rounds"),
        ("UPDATE plays SET arrivals = '[true]'", "which is no list of rounds"),
        ("UPDATE plays SET arrivals = '[-1]'", "distinct earlier rounds are expected"),
        ("UPDATE plays SET arrivals = '[0]'", "distinct earlier rounds are expected"),
        ("UPDATE plays SET arrivals = '[6]'", "distinct earlier rounds are expected"),
        ("UPDATE plays SET arrivals = '[5,5]'", "distinct earlier rounds are expected"),
        ("UPDATE plays SET arrivals = '[5,4]'", "distinct earlier rounds are expected"),
        ("UPDATE plays SET arrivals = '[4]'", "feedback of round 4 was used before"),
    ],
)
def test_what_no_observer_writes_is_a_verdict(tmp_path: Path, statement: str, expected: str) -> None:
    folder = recorded(tmp_path / "run", delays=[])
    change(folder, f"{statement} WHERE round = 6 AND agent = 2")
    with pytest.raises(RecordError, match=f"first at round 6, agent 2: .*{expected}") as failure:
        command.run(str(folder.path))
    assert failure.value.exit_code == 1


def test_every_fiftieth_play_has_to_be_there(tmp_path: Path) -> None:
    folder = recorded(
        tmp_path / "run", network={"agents": 1}, algorithm={"horizon": 51, "name": "dgd"}, delays=[]
    )
    change(folder, "DELETE FROM points WHERE round < 50")
    assert verify(read(folder)).passed
    change(folder, "DELETE FROM points WHERE round = 50")
    with pytest.raises(RecordError, match="round 50, agent 0: the play is not kept whole"):
        read(folder)


def test_a_play_kept_whole_is_the_one_that_was_scored_on_any_build(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run")
    change(folder, "UPDATE meta SET value = '0.1' WHERE key = 'numpy'")
    with closing(sqlite3.connect(folder.path / "run.sqlite")) as database, database:
        (point,) = database.execute("SELECT point FROM points WHERE round = 6 AND agent = 2").fetchone()
        for other, expected in (
            (bytes(len(point)), "the kept play has"),
            (point[:-2], "is no play of this run"),
        ):
            database.execute("UPDATE points SET point = ? WHERE round = 6 AND agent = 2", (other,))
            database.execute(
                "UPDATE plays SET hash = ? WHERE round = 6 AND agent = 2", (content_hash(other),)
            )
            database.commit()
            verdict = verify(read(folder))
            assert expected in (verdict.refusal or "")


def test_a_run_that_was_cut_short_is_verified_as_far_as_it_went(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recorded(tmp_path / "run")
    change(folder, "DELETE FROM plays WHERE round > 7")
    command.run(str(folder.path))
    said = capsys.readouterr().out
    assert (
        said
        == "28 of 28 plays are identical, 7 rounds were replayed (the run was cut short: 12 were planned)\n"
    )


def test_what_was_open_when_a_run_was_ended_may_be_missing_in_the_account(tmp_path: Path) -> None:
    slow = {"type": "latency", "latency": "2200ms"}
    folder = recorded(tmp_path / "run", clock="wall", pace="1s", delays=[slow])
    change(folder, "DELETE FROM plays WHERE round > 7")
    for first, unchecked in (("7", ()), ("6", (CUT_SHORT.format(t=6),))):
        change(
            folder,
            "DELETE FROM account WHERE moment >= "
            "(SELECT min(moment) FROM account WHERE kind = 3 AND agent = 1 AND round = ?)",
            first,
        )
        verdict = verify(read(folder))
        assert (verdict.refusal, verdict.unchecked) == (None, unchecked)


def test_on_another_build_losses_are_compared_and_it_is_not_called_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recorded(tmp_path / "run")
    change(folder, "DELETE FROM points")
    change(folder, "UPDATE meta SET value = 'Z80' WHERE key = 'blas_core'")
    command.run(str(folder.path))  # each play is identical, whatever the machine
    assert "another build than the run's (blas_core Z80 there, " in capsys.readouterr().out
    change(folder, "UPDATE plays SET hash = 'f' || substr(hash, 2), global_loss = global_loss * 1.0001")
    with pytest.raises(
        UnverifiedError, match="is not verified bit for bit: verify it with the build"
    ) as failure:
        command.run(str(folder.path))
    assert failure.value.exit_code == 3
    said = capsys.readouterr().out
    assert "0 of 48 plays are identical" in said
    assert "cumulative losses agree within 0.0001, 0.001 is allowed" in said
    change(folder, "UPDATE plays SET global_loss = global_loss * 1.01")
    with pytest.raises(EdgefwError, match="first at round 1, agent 0") as refused:
        command.run(str(folder.path))
    assert refused.value.exit_code == 1


def test_a_simulated_run_has_nothing_to_verify(tmp_path: Path) -> None:
    setup = resolve(playback.scenario())
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    folder.write_rows(runner.rows(setup, runner.run(setup)), meta(setup))
    with pytest.raises(InputError, match="was simulated, no play is on record"):
        read(folder)


def test_what_cannot_be_replayed_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run: give the folder of a run"):
        read(RunFolder(tmp_path / "nowhere"))
    folder = playback.new_folder(tmp_path / "run", playback.scenario())
    with pytest.raises(InputError, match=r"holds no run\.sqlite"):
        read(folder)
    folder.write_rows([], {})
    with pytest.raises(InputError, match="has no plays"):
        read(folder)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM plays WHERE round = 3 AND agent = 1", "is not whole: plays of round 3 are missing"),
        ("DELETE FROM plays WHERE round = 3", "is not whole: plays of round 3 are missing"),
        ("UPDATE meta SET value = 'abc' WHERE key = 'digest'", "the run was of abc"),
        (
            "UPDATE meta SET value = 'abc' WHERE key = 'data_digest'",
            "with digest abc, found here is synthetic",
        ),
    ],
)
def test_a_record_that_is_not_whole_is_wrong_input(tmp_path: Path, statement: str, expected: str) -> None:
    folder = recorded(tmp_path / "run")
    change(folder, statement)
    with pytest.raises(InputError, match=expected) as failure:
        command.run(str(folder.path))
    assert failure.value.exit_code == 2
