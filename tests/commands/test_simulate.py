"""`edgefw simulate`, as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from idx_files import write_idx
from small_options import small

from edgefw.cli import main
from edgefw.errors import EdgefwError
from edgefw.experiments import runner
from edgefw.records import DATABASE, SCENARIO, SUMMARY, RunFolder
from edgefw.scenario.load import load

SMALL = small("algorithm.stop_after=6")
PROMISED = {  # by the documentation of summary.json
    "total_loss",
    "network_regret",
    "comparator_loss",
    "comparator_gap",
    "total_delay",
    "rounds",
    "agents",
    "wall_seconds",
    "messages",
    "bytes",
    "per_agent",
    "rate",
    "rate_reason",
}


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def run(capsys: pytest.CaptureFixture[str], *arguments: str, data: tuple[str, ...] = SMALL) -> Any:
    """Run `simulate --json` and return what it prints."""
    assert main(["simulate", "default", *data, "--json", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""  # nobody looks at progress here
    return json.loads(out)


def numbers(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key != "wall_seconds"}


def test_a_newcomers_first_run_prints_what_is_promised(capsys: pytest.CaptureFixture[str]) -> None:
    data = ("--set", "data.source=synthetic", "--set", "algorithm.stop_after=20")
    said = run(capsys, data=data)
    assert set(said) >= PROMISED
    assert (said["agents"], said["rounds"], said["mode"], said["data"]) == (8, 20, "simulate", "synthetic")
    assert len(said["per_agent"]) == 8
    assert set(said["per_agent"][0]) >= {"agent", "cumulative_loss", "regret", "total_delay"}
    assert said["network_regret"] == pytest.approx(max(each["regret"] for each in said["per_agent"]))
    assert 0 <= said["comparator_gap"] <= 0.01 * said["network_regret"]
    assert said["total_delay"] == pytest.approx(sum(each["total_delay"] for each in said["per_agent"]) / 8)
    assert said["total_delay"] > 20  # two of the eight hear back late


def test_the_run_folder_holds_the_scenario_the_rows_and_the_summary(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = run(capsys, "--out", str(tmp_path / "a" / "run"))
    folder = RunFolder(tmp_path / "a" / "run")
    assert sorted(path.name for path in folder.path.iterdir()) == sorted([DATABASE, SCENARIO, SUMMARY])
    assert json.loads((folder.path / SUMMARY).read_text()) == said
    assert load(str(folder.path / SCENARIO)).digest == said["digest"] == folder.meta()["digest"]
    rows = folder.rows()
    assert len(rows) == 6 * 8
    for each in said["per_agent"]:
        losses = [row.global_loss for row in rows if row.agent == each["agent"]]
        assert sum(losses) == pytest.approx(each["cumulative_loss"])
    worst = [max(row.global_loss for row in rows if row.round == t) for t in range(1, 7)]
    assert sum(worst) == pytest.approx(said["total_loss"])


def test_a_derived_rate_is_shown_and_recorded_with_its_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fault = "{type: latency, latency: 1s, jitter: 250ms}"
    lone = ["algorithm.name=delmfw", "network.agents=1", "algorithm.horizon=6", f"delays=[{fault}]"]
    overrides = [word for setting in lone for word in ("--set", setting)]
    assert main(["simulate", "default", *SMALL, *overrides, "--no-regret", "--out", "one"]) == 0
    reason = "1/sqrt(d T), T = 6, d = 6 (declared by delays.0, latency)"
    assert f"rate 0.1667: {reason}" in capsys.readouterr().out
    folder = RunFolder(tmp_path / "here" / "one")
    said, meta = json.loads((folder.path / SUMMARY).read_text()), folder.meta()
    assert (said["rate"], said["rate_reason"]) == (pytest.approx(1 / 6), reason)
    assert (float(meta["rate"]), meta["rate_reason"]) == (said["rate"], reason)


def test_the_written_scenario_can_be_run_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = run(capsys, "--out", "first")
    assert main(["simulate", "first/scenario.yaml", "--json", "--out", "second"]) == 0
    assert numbers(json.loads(capsys.readouterr().out)) == numbers(first)
    assert (tmp_path / "here" / "second" / SCENARIO).read_bytes() == (
        tmp_path / "here" / "first" / SCENARIO
    ).read_bytes()


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, again = run(capsys), run(capsys)
    other = run(capsys, "--set", "seed=8")
    assert numbers(first) == numbers(again)
    assert first["total_loss"] != other["total_loss"]


def test_several_seeds_are_a_list_and_the_number_of_processes_changes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one = run(capsys, "--seeds", "3", "--jobs", "1", "--out", "one")
    two = run(capsys, "--seeds", "3", "--jobs", "2", "--out", "two")
    assert [said["seed"] for said in one] == [7, 8, 9]
    assert list(map(numbers, one)) == list(map(numbers, two))
    assert numbers(run(capsys, "--set", "seed=8")) == numbers(one[1])
    for seed in (7, 8, 9):
        folder = tmp_path / "here" / "two" / f"seed-{seed}"
        assert sorted(path.name for path in folder.iterdir()) == sorted([DATABASE, SCENARIO, SUMMARY])
        assert load(str(folder / SCENARIO)).seed == seed


def test_runs_of_the_same_second_do_not_meet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for _ in range(3):
        run(capsys, "--no-regret")
    folders = list((tmp_path / "here" / "runs").iterdir())
    assert len(folders) == 3
    assert all((folder / SUMMARY).exists() for folder in folders)


def test_without_regret_nothing_is_solved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(runner, "best_point")
    said = run(capsys, "--no-regret")
    assert said["network_regret"] is said["comparator_loss"] is said["comparator_gap"] is None
    assert said["total_loss"] > 0


def test_people_get_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "default", *SMALL]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "default: de2mfw, 8 agents, 6 rounds of synthetic" in out
    assert "cumulative loss" in out
    assert main(["simulate", "default", *SMALL, "--no-regret", "--seeds", "2", "--jobs", "1"]) == 0
    assert " over 2 seeds" in capsys.readouterr().out


def test_names_are_shown_as_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "here" / "[" / "red]:tent:"
    folder.mkdir(parents=True)
    write_idx(folder / "train-images-idx3-ubyte", np.eye(100, dtype=np.uint8).reshape(100, 10, 10))
    write_idx(folder / "train-labels-idx1-ubyte", np.arange(100, dtype=np.uint8) % 3)
    source = "data.source='[/red]:tent:'"  # in quotes, or YAML takes it for a list
    options = ["--set", source, "--set", "algorithm.stop_after=3", "--out", "[/x]:x:"]
    assert main(["simulate", "default", *options]) == 0
    out = capsys.readouterr().out
    assert "3 rounds of [/red]:tent:" in out  # no markup, no emoji
    assert "written to [/x]:x:" in out


def test_a_run_that_fails_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: Any) -> None:
        raise EdgefwError("the losses of round 5 are not finite")

    monkeypatch.setattr(runner, "run", fail)
    (tmp_path / "here" / "mine").mkdir()
    for options in ([], ["--out", "a/b"], ["--out", "mine"], ["--seeds", "2", "--jobs", "1"]):
        assert main(["simulate", "default", *SMALL, *options]) == 1
        assert capsys.readouterr().err == "edgefw: the losses of round 5 are not finite\n"
    left = [path.name for path in (tmp_path / "here").rglob("*")]
    assert sorted(left) == ["mine", "runs"]  # the user's own stays, and it is empty


def test_seeds_that_were_finished_stay_when_a_later_one_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = runner.summarise

    def fail_once(setup: Any, outcome: Any, found: Any) -> Any:
        if outcome.scenario.seed == 8:
            raise KeyboardInterrupt
        return real(setup, outcome, found)

    monkeypatch.setattr(runner, "summarise", fail_once)
    assert (
        main(["simulate", "default", *SMALL, "--no-regret", "--seeds", "3", "--jobs", "1", "--out", "x"])
        == 130
    )
    said = "1 of 3 seeds are in x: the same command with --out x goes on from there\n"
    assert capsys.readouterr().err == f"{said}edgefw: interrupted\n"
    assert [path.name for path in (tmp_path / "here" / "x").iterdir()] == ["seed-7"]
    assert (tmp_path / "here" / "x" / "seed-7" / SUMMARY).exists()


KILLED = """
import os, signal, sys
from edgefw.cli import main
from edgefw.experiments import runner
real = runner.summarise
def killed(setup, outcome, found):
    if outcome.scenario.seed == 8:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(setup, outcome, found)
runner.summarise = killed
main(sys.argv[1:])
"""


def test_seeds_are_written_as_they_end_and_a_killed_run_is_taken_up_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["simulate", "default", *SMALL, "--no-regret", "--seeds", "3", "--jobs", "1", "--out", "x"]
    ended = subprocess.run([sys.executable, "-c", KILLED, *words], check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    folders = {seed: tmp_path / "here" / "x" / f"seed-{seed}" for seed in (7, 8, 9)}
    assert [seed for seed, folder in folders.items() if (folder / SUMMARY).exists()] == [7]
    written = (folders[7] / SUMMARY).read_bytes()
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == "1 of 3 seeds were there already\n"
    assert (folders[7] / SUMMARY).read_bytes() == written  # it was not run again
    assert [each["seed"] for each in json.loads(out)] == [7, 8, 9]
    assert main(["simulate", "default", *SMALL, "--no-regret", "--set", "seed=8", "--out", "alone"]) == 0
    assert RunFolder(folders[8]).rows() == RunFolder(Path("alone")).rows()


def test_seeds_of_another_scenario_are_left_alone_and_those_without_regret_are_run_once_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seeds = ["--seeds", "2", "--jobs", "1", "--out", "x"]
    assert main(["simulate", "default", *SMALL, "--no-regret", *seeds]) == 0
    assert main(["simulate", "default", *SMALL, "--set", "algorithm.rate=0.5", *seeds]) == 2
    assert "x/seed-7 holds a run of another scenario" in capsys.readouterr().err
    assert main(["simulate", "default", *SMALL, *seeds, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert all(each["network_regret"] is not None for each in json.loads(out))


def test_seeds_end_where_numbers_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "default", *SMALL, "--set", f"seed={2**63 - 1}", "--seeds", "2"]) == 2
    assert "seed is 9223372036854775808: it must be below" in capsys.readouterr().err


def test_too_large_a_run_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["simulate", "default", "--set", "data.source=synthetic", "--set", f"data.samples={10**14}"])
        == 1
    )
    err = capsys.readouterr().err
    assert err.startswith("edgefw: out of memory (Unable to allocate ")
    assert err.count("\n") == 1


def test_a_fault_that_would_begin_after_the_last_round_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*SMALL, "--no-regret", "--out", str(tmp_path / "run")]
    assert main(["simulate", "one-slow-device", *words]) == 0
    assert capsys.readouterr().err.startswith(
        "warning: events.0 does nothing: it begins in round 241, and the"
    )
