"""A replay finds every play identical, and whatever was changed in the record."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import playback
import pytest

from edgefw.commands import verify as command
from edgefw.core.regret import global_losses
from edgefw.errors import EdgefwError, InputError
from edgefw.experiments import runner
from edgefw.records import PlayRow, RunFolder, environment, play_bytes, play_hash
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.observer import replay as verify

if TYPE_CHECKING:
    from pathlib import Path

CENTRALIZED = {"network": {"agents": 1}, "delays": [{"type": "rounds", "rounds": 3, "jitter": 2}]}


def rows(setup: Setup) -> list[PlayRow]:
    """Return what an observer would record of a run, with every play whole."""
    recorded = []
    for t, played in enumerate(playback.play_all(setup), start=1):
        losses = global_losses(setup.loss, [one.play.point for one in played], *setup.batches(t))
        for i, one in enumerate(played):
            point = play_bytes(one.play.point)
            arrivals, network = one.arrivals, float(losses[i])
            recorded.append(
                PlayRow(t, i, one.local_loss, network, arrivals, one.outstanding, play_hash(point), point)
            )
    return recorded


def meta(setup: Setup) -> dict[str, str]:
    facts = {"digest": setup.scenario.digest, "data": "synthetic", "data_digest": setup.dataset.digest}
    return facts | environment()


def recorded(path: Path, **changes: Any) -> RunFolder:
    setup = resolve(playback.scenario(**changes))
    folder = playback.new_folder(path, setup.scenario)
    folder.write_rows(rows(setup), meta(setup))
    return folder


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
    run = verify.read(recorded(tmp_path / "run", **changes))
    seen: list[int] = []
    verdict = verify.verify(run, seen.append)
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
        (
            "UPDATE points SET point = zeroblob(length(point))",
            "round 6, agent 2: the play that is kept whole",
        ),
    ],
)
def test_a_changed_record_is_found_and_named(tmp_path: Path, statement: str, expected: str) -> None:
    folder = recorded(tmp_path / "run")
    change(folder, f"{statement} WHERE round = 6 AND agent = 2")
    verdict = verify.verify(verify.read(folder))
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
    verdict = verify.verify(verify.read(folder))
    assert not verdict.passed
    assert verdict.mismatch is not None
    assert verdict.mismatch.startswith("round 4, agent ")
    assert verdict.identical >= 3 * 4


@pytest.mark.parametrize("arrivals", ["[5]", "[1]"])  # of a later round, or used before
def test_arrivals_that_cannot_have_been_end_the_replay(tmp_path: Path, arrivals: str) -> None:
    folder = recorded(tmp_path / "run", delays=[])
    change(folder, "UPDATE plays SET arrivals = ? WHERE round = 5 AND agent = 3", arrivals)
    verdict = verify.verify(verify.read(folder))
    assert not verdict.passed
    assert verdict.identical == 4 * 4
    assert verdict.mismatch is not None
    assert verdict.mismatch.startswith("round 5, agent 3: feedback of round")


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


def test_on_another_build_losses_are_compared_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recorded(tmp_path / "run")
    change(folder, "UPDATE meta SET value = 'Z80' WHERE key = 'blas_core'")
    command.run(str(folder.path))
    assert "another build than the run's (blas_core Z80 there, " in capsys.readouterr().out
    change(folder, "UPDATE plays SET hash = 'f' || substr(hash, 2), global_loss = global_loss * 1.0001")
    command.run(str(folder.path))
    said = capsys.readouterr().out
    assert "0 of 48 plays are identical" in said
    assert "cumulative losses agree within 0.0001, 0.001 is allowed" in said
    change(folder, "UPDATE plays SET global_loss = global_loss * 1.01")
    with pytest.raises(EdgefwError, match="first at round 1, agent 0"):
        command.run(str(folder.path))


def test_a_simulated_run_has_nothing_to_verify(tmp_path: Path) -> None:
    setup = resolve(playback.scenario())
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    folder.write_rows(runner.rows(setup, runner.run(setup)), meta(setup))
    with pytest.raises(InputError, match="was simulated, no play is on record"):
        verify.read(folder)


def test_what_cannot_be_replayed_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not the folder of a run: it has no scenario\.yaml"):
        verify.read(RunFolder(tmp_path / "nowhere"))
    folder = playback.new_folder(tmp_path / "run", playback.scenario())
    with pytest.raises(InputError, match=r"holds no run\.sqlite"):
        verify.read(folder)
    folder.write_rows([], {})
    with pytest.raises(InputError, match="has no plays"):
        verify.read(folder)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM plays WHERE round = 3 AND agent = 1", "is not whole: plays of round 3 are missing"),
        ("DELETE FROM plays WHERE round = 3", "is not whole: plays of round 3 are missing"),
        ("UPDATE plays SET arrivals = '[1' WHERE round = 3", r"cannot read .*run\.sqlite"),
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
