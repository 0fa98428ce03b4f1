"""What a user can get wrong: one line on standard error, exit code 2, no traceback, nothing left behind."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from idx_files import write_idx

from edgefw.cli import main
from edgefw.problem.dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Refused = Callable[..., str]

SMALL = ("--set", "data.source=synthetic", "--set", "data.samples=400", "--set", "algorithm.stop_after=3")


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Refused:
    """Return a function that runs the command line, expects it to refuse, and returns its one line."""

    def call(*arguments: str) -> str:
        before = sorted(tmp_path.rglob("*"))
        try:
            code = main(arguments)
        except SystemExit as end:  # argparse's way
            code = int(str(end.code))
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        assert err.startswith("edgefw: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert sorted(tmp_path.rglob("*")) == before
        return err.removeprefix("edgefw: ")

    return call


def simulate(refused: Refused, *overrides: str, scenario: str = "default") -> str:
    options = [part for override in overrides for part in ("--set", override)]
    return refused("simulate", scenario, *SMALL, "--no-regret", *options)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            ["algorithm.name=de2mwf"],
            ["algorithm.name", "'de2mwf'", "did you mean 'de2mfw'?", "valid: de2mfw,"],
        ),
        (["problem.radius=0"], ["problem.radius is 0", "above 0"]),
        (["problem.radius=-1"], ["problem.radius is -1", "above 0"]),
        (["problem.batch=51"], ["problem.batch", "batch 51", "shard of 50 samples", "lower"]),
        (["clock=rounds", "delays=[{type: rounds, rounds: -5}]"], ["delays.0.rounds is -5", "above 0"]),
        (["delays.1.latency=-2s"], ["delays.1.latency", "'-2s' is negative", "zero or more"]),
        (["network.agent=3"], ["network.agent: unknown field", "did you mean 'agents'?"]),
        (["network.agents=many"], ["network.agents is 'many'", "a whole number"]),
        (["network"], ["--set network", "field=value"]),
        (["seed.x=3"], ["--set seed.x=3", "seed is 7", "has no field 'x'"]),
        (["delays.5.latency=1s"], ["--set delays.5.latency=1s", "no delays.5", "delays.0 to delays.1"]),
        (["delays.0.agents=[8]"], ["delays.0.agents", "agent 8", "0 to 7"]),
        (["clock=rounds"], ["delays.0.type is latency", "use type rounds"]),
        (["delays.0={type: rounds, rounds: 3}"], ["delays.0.type is rounds", "use type latency"]),
        (
            ["clock=rounds", "delays=[]", "events=[{type: blackout, at: 60s}]"],
            ["events.0.at", "60s", "a number of rounds"],
        ),
        (["events=[{type: blackout}]"], ["events.0.at is missing", "a time (90s) or a round (200 rounds)"]),
        (["algorithm.name=dofw"], ["algorithm.name is dofw", "network.agents is 8", "network.agents=1"]),
        (["algorithm.name=mfw", "network.agents=1"], ["algorithm.name is mfw", "algorithm.name=delmfw"]),
        (["pace=asap"], ["pace is asap", "delays.0", "pace=250ms"]),
        (["pace=5"], ["pace: 5 has no unit", "750ms"]),
        (
            ["delays=[{type: adversary, strategy: largest, period: 5s}]"],
            ["delays.0.strategy is largest", "norms", "`edgefw up`"],
        ),
        (["delays=[{type: latency, trace: no.csv}]"], ["delays.0.trace: there is no trace file no.csv"]),
        (["delays.0.type=latecy"], ["delays.0.type", "'latecy'", "did you mean 'latency'?"]),
        (
            ["network.topology=edges", "delays=[]", "network.agents=4", "network.edges=[[0, 1], [2, 3]]"],
            ["network.edges", "not connected", "agents [2, 3]", "add an edge between"],
        ),
        (["data.source=mnits"], ["data.source", "'mnits'", "did you mean 'mnist'?"]),
        (["data.source=/nowhere"], ["data.source '/nowhere' is not a folder", "idx files"]),
        (["data.source=mnist"], ["'mnist' is not in", "edgefw data fetch mnist", "data.source=synthetic"]),
        (["seed=9223372036854775808"], ["seed is 9223372036854775808", "below 9223372036854775808"]),
    ],
    ids=lambda value: value[0],
)
def test_a_scenario_that_cannot_be_run(refused: Refused, overrides: list[str], words: list[str]) -> None:
    said = simulate(refused, *overrides)
    assert [word for word in words if word not in said] == []


def test_a_scenario_that_is_not_there(refused: Refused, tmp_path: Path) -> None:
    assert "did you mean 'default'? (valid: adversary, default," in simulate(refused, scenario="defualt")
    assert "there is no file no.yaml: give a scenario file or one of" in simulate(refused, scenario="no.yaml")
    assert "is a folder (a run keeps its scenario in " in simulate(refused, scenario=str(tmp_path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("network: [", "not valid YAML in line 1"),
        ("- 1", "is a mapping of fields"),
        ("netwrok: {}", "network"),
    ],
)
def test_a_file_that_is_no_scenario(refused: Refused, tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text)
    said = simulate(refused, scenario=str(path))
    assert said.startswith(f"{path}: ")
    assert words in said


def images(count: int = 400) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, 4, 4), dtype=np.uint8)


def put(folder: Path, count: int = 400) -> Path:
    folder.mkdir(parents=True)
    write_idx(folder / "train-images-idx3-ubyte.gz", images(count))
    write_idx(folder / "train-labels-idx1-ubyte", np.arange(count, dtype=np.uint8) % 3)
    return folder


def damage_magic(folder: Path) -> None:
    content = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())
    (folder / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"\0\0\x0d" + content[3:]))


def damage_gzip(folder: Path) -> None:
    path = folder / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-500])


def damage_end(folder: Path) -> None:
    path = folder / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1])


def damage_count(folder: Path) -> None:
    write_idx(folder / "train-labels-idx1-ubyte", np.zeros(399, dtype=np.uint8))


def damage_missing(folder: Path) -> None:
    (folder / "train-labels-idx1-ubyte").unlink()


def damage_name(folder: Path) -> None:
    (folder / "train-images-idx3-ubyte.gz").write_bytes(b"hello")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_magic, "is not an idx file of unsigned bytes: it starts with 00 00 0d 03"),
        (damage_gzip, "is a damaged gzip file ("),
        (damage_end, "is truncated: its header announces 408 bytes, it holds 407"),
        (damage_count, "has 400 samples and labels of shape (399,)"),
        (damage_missing, "has no train-labels-idx1-ubyte or train-labels-idx1-ubyte.gz"),
        (damage_name, "is not a gzip file"),
    ],
)
def test_a_folder_of_damaged_files(
    refused: Refused, tmp_path: Path, damage: Callable[[Path], None], words: str
) -> None:
    folder = put(tmp_path / "mine")
    damage(folder)
    said = simulate(refused, f"data.source={folder}", "data.samples=null")
    assert words in said
    assert str(folder) in said


def test_a_published_set_whose_files_were_changed(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "data" / "fashion-mnist")
    monkeypatch.setenv("EDGEFW_DATA", str(tmp_path / "data"))
    for source in ("fashion-mnist", "auto"):
        said = simulate(refused, f"data.source={source}", "data.samples=null")
        assert "train-images-idx3-ubyte.gz is not the published file of fashion-mnist (SHA-256" in said
        assert "remove it and run `edgefw data fetch fashion-mnist`" in said


def test_features_that_are_not_finite(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    def sensors(*_: Any, **__: Any) -> Dataset:
        features = np.full((400, 4), np.inf, dtype=np.float32)
        return Dataset("sensors", features, np.zeros(400, dtype=np.int64), 2, 1.0)

    monkeypatch.setattr("edgefw.scenario.setup.load", sensors)
    assert "data set 'sensors' has a feature that is not finite in sample 0: remove it" in simulate(refused)


def test_a_folder_that_holds_a_run(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "scenario.yaml").write_text("seed: 1\n")
    said = refused("simulate", "default", *SMALL, "--out", str(tmp_path / "run"))
    assert said == f"--out {tmp_path / 'run'} holds a run already: give another, or remove it\n"
    (tmp_path / "runs" / "seed-8").mkdir(parents=True)
    (tmp_path / "runs" / "seed-8" / "scenario.yaml").write_text("seed: 1\n")
    said = refused("simulate", "default", *SMALL, "--seeds", "3", "--out", str(tmp_path / "runs"))
    assert "runs/seed-8 holds a run of another scenario" in said  # and seed-7 was not made either


@pytest.mark.parametrize("out", ["file", "file/below", "/proc/edgefw", "x" * 300])
def test_a_folder_that_cannot_be_written_to(refused: Refused, tmp_path: Path, out: str) -> None:
    (tmp_path / "here" / "file").write_text("here first")
    for seeds in ("1", "2"):
        said = refused("simulate", "default", *SMALL, "--out", out, "--seeds", seeds)
        assert said.startswith(f"--out {out}")
        assert "cannot be written to (" in said


def test_a_place_for_runs_that_is_none(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "here" / "runs").write_text("here first")
    assert "cannot make the folder runs/default-" in simulate(refused)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "the following arguments are required: COMMAND; see `edgefw --help`"),
        (["simulat"], "unknown command 'simulat': did you mean 'simulate'? (valid: "),
        (["simulate"], "the following arguments are required: SCENARIO; see `edgefw simulate --help`"),
        (["simulate", "default", "--sets", "3"], "unknown option '--sets': did you mean '--set'?"),
        (["simulate", "default", "--seed", "3"], "unknown option '--seed': did you mean '--seeds'?"),
        (["simulate", "default", "--seed=3"], "unknown option '--seed': did you mean '--seeds'?"),
        (["simulate", "default", "--jso"], "unknown option '--jso': did you mean '--json'?"),
        (["simulate", "default", "more"], "unexpected argument 'more'; see `edgefw simulate --help`"),
        (["simulate", "default", "--seeds", "0"], "argument --seeds: '0' is not a number above 0"),
        (["simulate", "default", "--seeds", "-2"], "argument --seeds: '-2' is not a number above 0"),
        (["simulate", "default", "--seeds", "1.5"], "argument --seeds: '1.5' is not a number above 0"),
        (["simulate", "default", "--seeds"], "argument --seeds: expected one argument"),
        (["simulate", "default", "--jobs", "many"], "argument --jobs: 'many' is not a number above 0"),
        (["data"], "the following arguments are required: ACTION; see `edgefw data --help`"),
        (["data", "lst"], "unknown action 'lst': did you mean 'list'? (valid: list, fetch, path)"),
        (["data", "path", "mnits"], "unknown data set 'mnits': did you mean 'mnist'?"),
        (["data", "fetch", "mnits"], "unknown data set 'mnits': did you mean 'mnist'?"),
        (["data", "path", "mnist"], "data set 'mnist' is not on this machine: run `edgefw data fetch mnist`"),
        (["scenarios", "shw"], "unknown action 'shw': did you mean 'show'?"),
        (["scenarios", "show", "defualt"], "unknown scenario 'defualt': did you mean 'default'?"),
        (["scenarios", "show", "default", "--set", "seed=x"], "default: seed is 'x': it must be a whole"),
        (["reproduce", "table9"], "unknown target 'table9': did you mean"),
        (["reproduce", "table1", "--seeds", "0"], "argument --seeds: '0' is not a number above 0"),
    ],
    ids=" ".join,
)
def test_a_command_line_that_means_nothing(refused: Refused, arguments: list[str], words: str) -> None:
    assert refused(*arguments).startswith(words)
