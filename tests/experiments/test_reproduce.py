from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import fabricated
import pytest

from edgefw.cli import main
from edgefw.errors import DataError, InputError
from edgefw.experiments import plots, reproduce, runner
from edgefw.experiments.distributed import FIGURE_4, TABLE_2
from edgefw.experiments.experiment import Experiment, Findings
from edgefw.experiments.size import Size, announce, make_size, with_data

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from edgefw.experiments.runner import Outcome

NOTHING = Findings([{"column": 0}], None, [])


def run(target: str, out: Path, *, quick: bool = True, seeds: int | None = None) -> None:
    reproduce.run(target, quick=quick, seeds=seeds, out=out, jobs=1)


def test_an_unknown_target_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'figure2'"):
        run("figure22", tmp_path)


def test_no_seeds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 1"):
        run("table2", tmp_path, seeds=0)


def test_a_folder_that_cannot_be_made_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="give another --out"):
        run("table1", tmp_path / "file" / "below")


def test_figures_need_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"install edgefw\[figures\]"):
        run("figure3", tmp_path)


@pytest.mark.parametrize("target", [target for target in reproduce.TARGETS if target != "table1"])
def test_a_full_run_needs_its_data_set(target: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="edgefw data fetch"):
        run(target, tmp_path, quick=False)


def test_a_quick_run_makes_its_own_data_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    size = with_data(make_size(quick=True, seeds=None), "mnist")
    announce(size, "mnist")
    assert size.scenario("paper-centralized", 1, []).data.source == "synthetic"
    assert "mnist is not on this machine" in capsys.readouterr().out


def test_table1_needs_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results" / "table1"
    run("table1", out)
    with (out / "table1.csv").open(encoding="utf-8") as file:
        rows = {(row["algorithm"], row["graph"]): row for row in csv.DictReader(file)}
    assert len(rows) == 9
    assert float(rows["de2mfw", "cycle"]["messages"]) == 64
    assert float(rows["delmfw", "-"]["lmo_calls"]) == 31
    assert "counted over 3 rounds" in capsys.readouterr().out


def test_what_is_known_is_not_simulated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Outcome] = {}
    table = TABLE_2.run(fabricated.TINY, 1, known)
    again: list[int] = []

    def run_all(scenarios: Sequence[object], *_rest: object) -> list[Outcome]:
        again.append(len(scenarios))
        return []

    monkeypatch.setattr(runner, "run_all", run_all)
    figure = FIGURE_4.run(fabricated.TINY, 1, known)
    assert again == [0]
    assert figure.rows == [row for row in table.rows if row["reading"] == "replacement"]


def test_a_full_run_is_the_published_size() -> None:
    assert make_size(quick=False, seeds=None) == Size((1, 2, 3), 1000, quick=False)
    assert make_size(quick=False, seeds=1).seeds == (1,)
    assert not make_size(quick=True, seeds=None).compares


def test_a_quick_run_says_that_it_compares_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Size] = []

    def note(_self: object, size: Size, _jobs: object) -> Findings:
        called.append(size)
        return NOTHING

    monkeypatch.setattr(Experiment, "run", note)
    run("table2", tmp_path)
    assert "nothing is compared" in capsys.readouterr().out
    assert called[0].quick


@pytest.mark.parametrize(
    "words", ["radius 24", "mean over its samples", "centred", "eta_k = 1/(k+3)", "DelayMFW"]
)
def test_help_and_report_say_where_the_runs_depart_from_the_papers_text(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    assert words in capsys.readouterr().out
    monkeypatch.setattr(Experiment, "run", lambda _self, _size, _jobs: NOTHING)
    run("regret", tmp_path, quick=False)
    assert words in capsys.readouterr().out
