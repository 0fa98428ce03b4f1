from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import fabricated
import numpy as np
import pytest

from edgefw.experiments import centralized, figure23
from edgefw.experiments.centralized import RATES, Case
from edgefw.experiments.published import CENTRALIZED, MAX_DELAYS
from edgefw.experiments.size import Size
from edgefw.experiments.stats import spread
from edgefw.scenario.plan import delay_plan

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.experiments.stats import Spread

FULL = Size((1,))


def reference() -> dict[tuple[str, int], Spread]:
    return {(a, d): spread([v]) for a, row in CENTRALIZED.items() for d, v in row.items()}


def held(means: dict[tuple[str, int], Spread]) -> list[bool]:
    return [verdict.holds for verdict in figure23.verdicts(means)]


def test_the_reference_meets_all_claims() -> None:
    assert held(reference()) == [True] * 6


@pytest.mark.parametrize(
    ("algorithm", "d", "total", "place"),
    [
        ("dofw", 1, 1250.0, 1),  # more than 5 % off
        ("delmfw", 101, 1950.0, 3),  # above DOFW
        ("dofw", 101, 1750.0, 4),  # the margin shrinks
        ("bold-mfw", 101, 1780.0, 5),
    ],
)
def test_every_claim_can_fail(algorithm: str, d: int, total: float, place: int) -> None:
    means = reference()
    means[algorithm, d] = spread([total])
    assert held(means)[place] is False


@pytest.mark.parametrize("d", [d for d in MAX_DELAYS + figure23.QUICK_MAX_DELAYS if d > 1])
def test_delays_are_uniform_from_a_tenth_of_d_to_d(d: int) -> None:
    case = Case("delmfw", d, 0.01)
    table = delay_plan(centralized.scenario(case, Size((1,), horizon=5000), 1)).table(5000)
    values, counts = np.unique(table, return_counts=True)
    assert values.tolist() == list(range(math.ceil(d / 10), d + 1))
    assert counts.min() > 0.5 * 5000 / len(values)


def test_a_range_without_a_whole_middle_is_refused() -> None:
    with pytest.raises(ValueError, match="d = 13"):
        centralized.uniform_delays(13)


def test_without_delay_there_is_none() -> None:
    assert centralized.scenario(Case("dofw", 1, 0.01), FULL, 1).delays == []


def test_the_rate_knows_d_and_not_the_largest_delay_drawn() -> None:
    rates = {(c.algorithm, c.d): c.rate for c in centralized.cases(MAX_DELAYS, FULL) if c.algorithm != "dgd"}
    assert len(rates) == 18
    for (_, d), rate in rates.items():
        assert rate == pytest.approx(1 / math.sqrt(1000 * d))
    scenario = centralized.scenario(Case("bold-mfw", 101, rates["bold-mfw", 101]), FULL, 1)
    assert scenario.algorithm.rate == rates["bold-mfw", 101]
    assert (scenario.algorithm.sub_iterations, scenario.problem.radius) == (31, 8)


def test_dgd_gets_its_best_rate_and_the_others_keep_theirs() -> None:
    runs = {}
    for case in centralized.cases((1, 21), FULL):
        total = 100 + abs(math.log(case.rate / 0.1)) if case.algorithm == "dgd" else 50
        runs[case, 1] = fabricated.outcome(centralized.scenario(case, FULL, 1), total)
    best = centralized.chosen(runs)
    assert best["dgd", 21].rate == pytest.approx(0.1)
    assert best["dofw", 21].rate == pytest.approx(1 / math.sqrt(21_000))


def test_a_best_rate_at_the_edge_of_the_grid_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    best = {("dgd", 1): Case("dgd", 1, RATES[-1]), ("dgd", 21): Case("dgd", 21, RATES[3])}
    figure23.print_table(best, dict.fromkeys(best, spread([1.0])), FULL)
    assert "at the edge of the grid for d = 1." in capsys.readouterr().out


@pytest.mark.parametrize(("target", "seeds"), [("figure2", (1, 2)), ("figure3", (1,))])
def test_quick_run_writes_table_and_figure(
    target: str, seeds: tuple[int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    getattr(figure23, target)(replace(fabricated.TINY, seeds=seeds), tmp_path, jobs=1)
    points = {"figure2": 3, "figure3": 4}[target]
    assert len((tmp_path / f"{target}.csv").read_text().splitlines()) == 1 + points * (3 + 6) * len(seeds)
    assert (tmp_path / f"{target}.png").stat().st_size > 10_000
    assert (tmp_path / f"{target}.svg").stat().st_size > 1000
    printed = capsys.readouterr().out
    assert "BOLD-MFW" in printed
    assert "reference" not in printed
