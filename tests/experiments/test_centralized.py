from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import fabricated
import numpy as np
import pytest

from edgefw.experiments import centralized
from edgefw.experiments.centralized import FIGURE_2, FIGURE_3, QUICK_MAX_DELAYS, RATES, Trial
from edgefw.experiments.published import CENTRALIZED, MAX_DELAYS
from edgefw.experiments.size import Size
from edgefw.experiments.stats import spread
from edgefw.scenario.plan import delay_plan

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.experiments.runner import Outcome
    from edgefw.experiments.stats import Spread

FULL = Size((1,))


def reference() -> dict[tuple[str, int], Spread]:
    """Return the reference's totals, and DGD above all of them."""
    totals = {**CENTRALIZED, "dgd": dict.fromkeys(CENTRALIZED["delmfw"], 3000.0)}
    return {(a, d): spread([v]) for a, row in totals.items() for d, v in row.items()}


def held(fixed: dict[tuple[str, int], Spread], best: dict[tuple[str, int], Spread]) -> list[bool | None]:
    return [claim.holds for claim in centralized.claims(fixed, best)]


def test_the_reference_meets_all_claims() -> None:
    assert held(reference(), reference()) == [True] * 10


@pytest.mark.parametrize(
    ("algorithm", "d", "total", "places"),
    [
        ("dofw", 1, 1250.0, [1]),  # more than 5 % off
        ("delmfw", 101, 1950.0, [0, 3, 5, 6]),  # above DOFW, and the margins shrink
        ("dofw", 101, 1750.0, [1, 5]),
        ("bold-mfw", 101, 1780.0, [2, 6]),
    ],
)
def test_every_claim_at_the_published_rate_can_fail(
    algorithm: str, d: int, total: float, places: list[int]
) -> None:
    means = reference() | {(algorithm, d): spread([total])}
    assert [place for place, met in enumerate(held(means, reference())) if not met] == places


def test_a_rival_that_is_better_at_its_best_rate_is_told() -> None:
    best = reference() | {("dofw", 21): spread([931.0]), ("dgd", 101): spread([1163.0])}
    assert held(reference(), best)[7:] == [False, True, False]
    assert "every rate tuned DeLMFW is below DOFW" in centralized.claims(reference(), best)[7].claim


def test_a_learner_that_ignores_late_feedback_fails_every_claim_about_it() -> None:
    deaf = {("delmfw", d): spread([1025.0 if d == 1 else 3000.0]) for d in (1, 21, 101)}
    found = held(reference() | deaf, reference() | deaf)
    assert [place for place, met in enumerate(found) if met] == [1, 2]  # what the others' totals are


@pytest.mark.parametrize("d", [d for d in MAX_DELAYS + QUICK_MAX_DELAYS if d > 1])
def test_delays_are_uniform_from_a_tenth_of_d_to_d(d: int) -> None:
    trial = Trial("delmfw", d, 0.01)
    table = delay_plan(centralized.scenario(trial, Size((1,), horizon=5000), 1)).table()
    values, counts = np.unique(table, return_counts=True)
    assert values.tolist() == list(range(math.ceil(d / 10), d + 1))
    assert counts.min() > 0.5 * 5000 / len(values)


def test_a_range_without_a_whole_middle_is_refused() -> None:
    with pytest.raises(ValueError, match="d = 13"):
        centralized.uniform_delays(13)


def test_without_delay_there_is_none() -> None:
    assert centralized.scenario(Trial("dofw", 1, 0.01), FULL, 1).delays == []


def test_the_published_rate_knows_d_and_not_the_largest_delay_drawn() -> None:
    trial = centralized.published("bold-mfw", 101, FULL)
    assert trial.rate == pytest.approx(1 / math.sqrt(101_000))
    scenario = centralized.scenario(trial, FULL, 1)
    assert scenario.algorithm.rate == trial.rate
    assert (scenario.algorithm.sub_iterations, scenario.problem.radius) == (31, 8)


def fabricate() -> dict[Trial, list[Outcome]]:
    """Return runs of all trials, each algorithm best at a rate of its own."""
    ideal = {"delmfw": 0.01, "dofw": 1.0, "bold-mfw": 0.1, "dgd": 10.0}
    return {
        trial: [
            fabricated.outcome(
                centralized.scenario(trial, FULL, 1), 100 + abs(math.log(trial.rate / ideal[trial.algorithm]))
            )
        ]
        for trial in centralized.trials((1, 21), FULL)
    }


def test_every_algorithm_is_run_at_the_published_rate_and_over_the_same_grid() -> None:
    rates = {
        a: {c.rate for c in centralized.trials((21,), FULL) if c.algorithm == a} for a in centralized.NAMES
    }
    assert set(map(frozenset, rates.values())) == {frozenset({*RATES, 1 / math.sqrt(21_000)})}


def test_every_algorithm_gets_its_best_rate_beside_the_published_one() -> None:
    runs = fabricate()
    best, fixed = centralized.tuned(runs), centralized.at_published(runs, FULL)
    found = {algorithm: trial.rate for (algorithm, d), trial in best.items() if d == 21}
    assert found == pytest.approx({"delmfw": 0.01, "dofw": 1.0, "bold-mfw": 0.1, "dgd": 10.0})
    assert {trial.rate for (_, d), trial in fixed.items() if d == 21} == {1 / math.sqrt(21_000)}


def test_both_columns_and_a_best_rate_at_the_edge_of_the_grid_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = fabricate()
    centralized.report(runs, FULL, centralized.draw_delays(runs, FULL)).show()
    printed = capsys.readouterr().out
    assert "best rate" in printed
    assert "at the edge of the grid: DGD (d = 1), DGD (d = 21)." in printed


def test_the_points_of_an_independent_run_stand_beside_ours() -> None:
    runs = fabricate()
    fixed, tuned = centralized.draw_delays(runs, FULL).panels
    theirs = {
        line.label: dict(zip(line.x, line.values[0], strict=True)) for line in fixed.lines if line.hollow
    }
    assert theirs["DeLMFW, independent"] == {1: 1025, 21: 1146, 101: 1300}
    assert not any(line.hollow for line in tuned.lines)


@pytest.mark.parametrize(("target", "seeds"), [("figure2", (1, 2)), ("figure3", (1,))])
def test_quick_run_writes_table_and_figure(
    target: str, seeds: tuple[int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = {"figure2": FIGURE_2, "figure3": FIGURE_3}[target]
    found = experiment.run(replace(fabricated.TINY, seeds=seeds), jobs=1)
    found.show()
    found.write(tmp_path, target)
    points = {"figure2": 3, "figure3": 4}[target]
    assert len((tmp_path / f"{target}.csv").read_text().splitlines()) == 1 + points * 4 * (1 + 5) * len(seeds)
    assert (tmp_path / f"{target}.png").stat().st_size > 10_000
    assert (tmp_path / f"{target}.svg").stat().st_size > 1000
    printed = capsys.readouterr().out
    assert "BOLD-MFW" in printed
    assert "reference" not in printed
