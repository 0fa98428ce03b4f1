"""Comparing scenarios and runs: what is run, what is kept, what is taken up again."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import fabricated
import pytest

import edgefw
from edgefw import terminal
from edgefw.cli import main
from edgefw.experiments import runner
from edgefw.experiments.centralized import RATES
from edgefw.reports import contest
from edgefw.scenario.load import dump

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from edgefw.scenario.model import Scenario

SMALL: dict[str, Any] = {
    "clock": "rounds",
    "pace": "asap",
    "network.agents": 3,
    "data.source": "synthetic",
    "data.samples": 200,
    "data.features": 20,
    "data.classes": 4,
    "algorithm.horizon": 8,
    "delays": [{"type": "rounds", "agents": [1], "rounds": 4}],
}
LATE = edgefw.scenario("default", SMALL | {"name": "late"})
PROMPT = edgefw.scenario(LATE, {"name": "prompt", "delays": []})


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Scenario]:
    """What is simulated, in the order in which it is asked for."""
    found: list[Scenario] = []
    real = runner.as_they_end

    def as_they_end(scenarios: Sequence[Scenario], *rest: Any) -> Iterator[tuple[int, runner.Outcome]]:
        found.extend(scenarios)
        return real(scenarios, *rest)

    monkeypatch.setattr(runner, "as_they_end", as_they_end)
    return found


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are kept, but no figures are drawn: that takes seconds."""
    monkeypatch.setattr(edgefw.Comparison, "write", lambda _self, _out: [])


def test_scenarios_are_simulated_with_the_same_seeds_and_paired() -> None:
    found = edgefw.compare(LATE, edgefw.scenario(PROMPT, {"seed": 99}), seeds=3, jobs=1)
    assert [each.label for each in found.arms] == ["late", "prompt"]
    assert found.seeds == (7, 8, 9)
    runs = {
        name: edgefw.simulate(each, seeds=3, jobs=1) for name, each in (("late", LATE), ("prompt", PROMPT))
    }
    for each in found.arms:
        assert [r.total_loss for r in each.results] == [run.summary.total_loss for run in runs[each.label]]
    apart = [
        late.loss.sum(axis=0).max() - prompt.loss.sum(axis=0).max()
        for late, prompt in zip(runs["late"], runs["prompt"], strict=True)
    ]
    loss, regret = (each for each in found.standings if each.arm == "prompt")
    assert loss.difference is not None
    assert regret.difference is not None
    assert regret.difference.mean == pytest.approx(
        -sum(apart) / 3
    )  # runs of a seed have one best fixed point


def test_runs_are_taken_as_they_are(tmp_path: Path, ran: list[Scenario]) -> None:
    edgefw.simulate(LATE, seeds=2, out=tmp_path / "late", jobs=1)
    prompt = edgefw.simulate(PROMPT, seeds=3, jobs=1)
    ran.clear()
    found = edgefw.compare(tmp_path / "late", *reversed(prompt))
    assert ran == []
    assert (found.seeds, found.left_out) == ((7, 8), (9,))
    single = edgefw.compare(tmp_path / "late" / "seed-8", PROMPT, jobs=1)
    assert [scenario.seed for scenario in ran] == [8]  # scenarios get the seeds of the runs
    by_label = {each.label: each.results[0].total_loss for each in single.arms}
    assert by_label == {"late": found.arms[0].results[1].total_loss, "prompt": prompt[1].summary.total_loss}


def test_two_runs_of_one_scenario_and_seed_are_held_against_each_other(tmp_path: Path) -> None:
    for name in ("one", "other"):
        edgefw.simulate(LATE, seeds=2, out=tmp_path / name, jobs=1, regret=False)
    found = edgefw.compare(tmp_path / "one", tmp_path / "other")
    labels = [str(tmp_path / name) for name in ("one", "other")]
    assert [each.label for each in found.arms] == labels
    assert found.seeds == (7, 8)
    assert repr(found) == f"<edgefw.Comparison of {', '.join(labels)}; seeds 7, 8>"
    unwritten = [edgefw.simulate(LATE, regret=False) for _ in range(2)]
    labels = ["late, in memory (1)", "late, in memory (2)"]
    assert [each.label for each in edgefw.compare(*unwritten).arms] == labels


def test_parameters_are_those_of_the_algorithm_that_the_scenario_names(ran: list[Scenario]) -> None:
    own = {"algorithm.name": "edgefw_momentum:Momentum", "algorithm.params": {"beta": 0.9}}
    mine = edgefw.scenario(LATE, own)
    edgefw.compare(mine, algorithms=["distributed-dgd", mine.algorithm.name], seeds=1, regret=False, jobs=1)
    assert [each.algorithm.params for each in ran] == [{}, {"beta": 0.9}]


@pytest.mark.usefixtures("undrawn")
def test_an_interrupted_comparison_is_taken_up_again(
    tmp_path: Path, ran: list[Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep: Callable[..., None] = contest.Contest._keep
    kept: list[int] = []

    def until_the_third(self: contest.Contest, outcome: runner.Outcome) -> None:
        if len(kept) == 3:
            raise KeyboardInterrupt
        keep(self, outcome)
        kept.append(outcome.scenario.seed)

    with monkeypatch.context() as patched:
        patched.setattr(contest.Contest, "_keep", until_the_third)
        with pytest.raises(KeyboardInterrupt):
            edgefw.compare(LATE, PROMPT, seeds=3, out=tmp_path, regret=False, jobs=1)
    assert len(list((tmp_path / "runs").glob("*.json"))) == 3
    ran.clear()
    found = edgefw.compare(LATE, PROMPT, seeds=3, out=tmp_path, regret=False, jobs=1)
    assert len(ran) == 3
    assert found.rows() == edgefw.compare(LATE, PROMPT, seeds=3, regret=False, jobs=1).rows()
    ran.clear()
    edgefw.compare(LATE, PROMPT, seeds=4, out=tmp_path, regret=False, jobs=1)
    assert [scenario.seed for scenario in ran] == [10, 10]  # the new seed alone


@pytest.mark.usefixtures("undrawn")
def test_whoever_waits_is_told_what_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    @contextmanager
    def status(title: str) -> Iterator[None]:
        told.append(title)
        yield

    monkeypatch.setattr(terminal, "status", status)
    edgefw.compare(LATE, PROMPT, seeds=1, out=tmp_path, regret=False, jobs=1)
    assert told == ["preparing the comparison", "drawing"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("damage", ["", "{", '{"result": {}}', "[]"])
def test_what_is_not_whole_or_of_other_data_is_run_again(
    tmp_path: Path, ran: list[Scenario], damage: str
) -> None:
    edgefw.compare(LATE, PROMPT, seeds=1, out=tmp_path, regret=False, jobs=1)
    one, other = sorted((tmp_path / "runs").glob("*.json"))
    one.write_text(damage)
    other.write_text(json.dumps(json.loads(other.read_text()) | {"data_digest": "another"}))
    ran.clear()
    edgefw.compare(LATE, PROMPT, seeds=1, out=tmp_path, regret=False, jobs=1)
    assert len(ran) == 2


def test_every_algorithm_gets_its_best_rate_of_one_grid_found_on_other_seeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ideal = {"de2mfw": RATES[4], "distributed-dgd": RATES[-1]}
    ran: list[Scenario] = []

    def as_they_end(scenarios: Sequence[Scenario], *_rest: object) -> Iterator[tuple[int, runner.Outcome]]:
        ran.extend(scenarios)
        for place, each in enumerate(scenarios):
            rate = each.algorithm.rate
            tuning = each.seed > 9  # a rate that is best with the seeds that are compared is not the one
            wanted = ideal[each.algorithm.name] if tuning else RATES[0]
            yield place, fabricated.outcome(each, 100.0 + abs((rate or 0) - wanted))

    monkeypatch.setattr(runner, "as_they_end", as_they_end)
    found = edgefw.compare(LATE, algorithms=list(ideal), seeds=3, tune=True, regret=False)
    assert {each.label: each.results[0].rate for each in found.arms} == ideal
    grids = {
        name: sorted(
            {str(each.algorithm.rate) for each in ran if each.seed > 9 and each.algorithm.name == name}
        )
        for name in ideal
    }
    assert grids["de2mfw"] == grids["distributed-dgd"]
    assert len(grids["de2mfw"]) == len(RATES)
    assert {each.seed for each in ran} == {7, 8, 9, 10, 11, 12}
    words = " ".join(found.words())
    assert "over seeds 10 to 12, which are not among those compared" in words
    assert "at the edge of the grid, a better one may lie beyond: distributed-dgd." in words


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "late.yaml").write_text(dump(LATE), encoding="utf-8")
    out = tmp_path / "out"
    words = ["compare", str(tmp_path / "late.yaml"), "--algorithms", "de2mfw,distributed-dgd", "--seeds", "2"]
    assert (
        main([*words, "--no-regret", "--set", "algorithm.horizon=5", "--jobs", "1", "--out", str(out)]) == 0
    )
    printed = capsys.readouterr().out
    assert "Total loss (sum over rounds of the maximum over agents), 2 seeds" in printed
    assert (out / "comparison.html").as_uri() in printed
    assert "5" in (out / "seeds.csv").read_text(encoding="utf-8").splitlines()[1].split(",")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["default"], "a comparison needs two of something: scenarios, runs, or --algorithms a,b"),
        ([], "a comparison needs two of something"),
        (["default", "--algorithms", "de2mfw,,dofw"], "write names with commas between them"),
        (["--algorithms", "de2mfw,dofw"], "set network.agents=1"),
        (["--algorithms", "de2mfw,nothing"], "nothing"),
        (["default", "nowhere"], "unknown scenario 'nowhere'"),
        (["default", "."], "holds no run: give the folder of a run"),
    ],
)
def test_a_wrong_command_is_refused_in_one_line(
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *words, "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "out").exists()
