"""Simulating from Python: the same as `edgefw simulate`, bit for bit."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import edgefw
from edgefw.cli import main
from edgefw.records import DATABASE, SCENARIO, SUMMARY, RunFolder

FIELDS = {
    "clock": "rounds",
    "network.agents": 3,
    "data.source": "synthetic",
    "data.samples": 300,
    "data.features": 20,
    "data.classes": 4,
    "algorithm.horizon": 8,
    "delays": [{"type": "rounds", "agents": [1], "rounds": 3, "jitter": 1}, {"type": "drop", "agents": [2]}],
}


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _arrays_are_equal_but_regret(one: edgefw.Run, other: edgefw.Run) -> None:
    for name in ("loss", "local_loss", "delay", "outstanding", "total_delay"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)


def _arrays_are_equal(one: edgefw.Run, other: edgefw.Run) -> None:
    _arrays_are_equal_but_regret(one, other)
    np.testing.assert_array_equal(one.regret, other.regret, strict=True)


def _in_no_time(summary: edgefw.Summary) -> edgefw.Summary:
    return replace(summary, wall_seconds=0.0)


def test_the_command_line_and_the_api_give_the_same_bits(capsys: pytest.CaptureFixture[str]) -> None:
    run = edgefw.simulate(edgefw.scenario("default", FIELDS))
    words = [word for field, value in FIELDS.items() for word in ("--set", f"{field}={json.dumps(value)}")]
    assert main(["simulate", "default", *words, "--out", "run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said | {"wall_seconds": 0.0} == json.loads(_in_no_time(run.summary).to_json())
    typed = edgefw.load_run("run")
    assert typed.scenario == run.scenario
    _arrays_are_equal(typed, run)


def test_arrays_tell_what_the_rows_and_the_summary_tell() -> None:
    run = edgefw.simulate(edgefw.scenario("default", FIELDS), out="run")
    rows = RunFolder(Path("run")).rows()
    assert run.loss.shape == (8, 3)
    assert run.loss[4, 2] == next(row.global_loss for row in rows if (row.round, row.agent) == (5, 2))
    assert run.outstanding.tolist() == np.reshape([row.outstanding for row in rows], (8, 3)).tolist()
    assert run.regret is not None
    assert run.regret[-1] == pytest.approx([each.regret for each in run.summary.per_agent])
    assert run.total_delay[-1].tolist() == [each.total_delay for each in run.summary.per_agent]
    assert set(run.delay[:-1, 0]) == {1.0}  # nobody can use the last round's
    assert np.isin(run.delay[:4, 1], (2, 3, 4)).all()
    assert np.isnan(run.delay[:, 2]).all()


def test_a_simulated_run_says_which_data_and_agents_it_had_and_can_be_run_again() -> None:
    drawn = [{"type": "rounds", "agents": {"draw": 2}, "rounds": 3}]
    asked = edgefw.scenario(
        "default", {**FIELDS, "data.source": "auto", "network.agents": 6, "delays": drawn}
    )
    run = edgefw.simulate(asked, out="run", regret=False)
    meta = RunFolder(Path("run")).meta()
    assert (meta["data"], run.scenario.data.source) == ("synthetic", "synthetic")
    (late,) = json.loads(meta["plan"])
    assert len(late["agents"]) == 2
    assert late["agents"] == np.flatnonzero(run.delay[0] > 1).tolist()
    again = edgefw.simulate("run/scenario.yaml", out="again", regret=False)
    assert RunFolder(Path("again")).meta()["data_digest"] == meta["data_digest"]
    _arrays_are_equal_but_regret(run, again)


def test_nothing_is_written_unless_a_folder_is_named(tmp_path: Path) -> None:
    run = edgefw.simulate(edgefw.scenario("default", FIELDS), regret=False)
    assert run.path is None
    assert run.regret is None
    assert run.summary.network_regret is None
    assert not list(tmp_path.iterdir())
    assert repr(run) == "<edgefw.Run default, seed 7, in memory>"


def test_several_seeds_are_a_list_with_a_folder_each(tmp_path: Path) -> None:
    small = edgefw.scenario("default", FIELDS)
    runs = edgefw.simulate(small, seeds=2, out="runs", jobs=1)
    assert [run.path for run in runs] == [Path("runs/seed-7"), Path("runs/seed-8")]
    assert sorted(path.name for path in (tmp_path / "runs/seed-8").iterdir()) == [DATABASE, SCENARIO, SUMMARY]
    alone = edgefw.simulate(edgefw.scenario(small, {"seed": 8}))
    assert asdict(_in_no_time(alone.summary)) == asdict(_in_no_time(runs[1].summary))
    _arrays_are_equal(alone, runs[1])
    assert len(edgefw.simulate(small, seeds=1, regret=False)) == 1
    with pytest.raises(edgefw.EdgefwError, match=r"^seeds is 0: it must be above 0$"):
        edgefw.simulate(small, seeds=0)


SCRIPT = """
import edgefw

print("the script is read")
scenario = edgefw.scenario("default", {fields!r})
print([run.summary.seed for run in edgefw.simulate(scenario, seeds=2, jobs=2, regret=False)])
"""


def test_a_script_without_a_main_block_can_simulate_several_seeds_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT.format(fields=FIELDS))
    done = subprocess.run([sys.executable, "mine.py"], capture_output=True, text=True, check=True)
    assert done.stdout == "the script is read\n[7, 8]\n"
    assert done.stderr == ""
