from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

import fabricated
import numpy as np
import pytest

from edgefw.core.regret import Comparator
from edgefw.delays.book import most_total_delay
from edgefw.experiments import regret
from edgefw.experiments.regret import CURVES, REGRET, Measured, Point
from edgefw.experiments.size import Size
from edgefw.scenario.plan import delay_plan
from edgefw.scenario.setup import resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FULL = Size((1, 2, 3))


def fabricate(law: Callable[[int], float]) -> dict[Point, list[Measured]]:
    """Return measures whose regret is law(d), of every seed."""
    return {
        point: [
            Measured(
                fabricated.outcome(regret.scenario(point, FULL, seed), 500 + law(point.d)),
                Comparator(500.0, 1.0),
            )
            for seed in FULL.seeds
        ]
        for point in regret.points(FULL)
    }


def test_the_last_point_of_a_curve_hears_nothing_and_the_first_hears_at_once() -> None:
    points = regret.points(FULL)
    for point, heard in [(points[0], 1000), (points[-1], 1)]:
        delays = delay_plan(regret.scenario(point, FULL, 1)).table()
        arrival = np.arange(1000) + delays[0]
        assert (arrival <= 1000).sum() == heard  # what arrives in the last round moves no play
        assert (arrival < 1000).any() == (point.d == 1)


def test_every_curve_is_judged_by_its_growth() -> None:
    roots = regret.claims(fabricate(lambda d: min(260 + 60 * (d**0.5 - 1), 2800)))
    assert [claim.holds for claim in roots] == [True] * len(CURVES)
    lines = regret.claims(fabricate(lambda d: min(260 + 10 * (d - 1), 2800)))
    assert not any(claim.holds for claim in lines)
    assert "zeta = 1/sqrt(B): regret grows no faster than sqrt(B)" in lines[2].claim


def test_the_table_marks_where_growth_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    regret.table(CURVES[0], fabricate(lambda d: min(260 + 60 * (d**0.5 - 1), 2800))).show()
    marked = [line.split()[1] for line in capsys.readouterr().out.splitlines() if " * " in line]
    assert marked == ["50", "101", "201", "501"]


def test_the_rates_know_what_the_table_says_they_know() -> None:
    by_rate = {curve.rate: Point(curve, 501, 1000).zeta for curve in CURVES}
    assert by_rate["1/sqrt(T)"] == pytest.approx(1 / math.sqrt(1000))
    assert by_rate["1/sqrt(d T)"] == pytest.approx(1 / math.sqrt(501_000))
    assert by_rate["1/sqrt(B)"] == pytest.approx(1 / math.sqrt(375_750))


def test_the_scenario_has_the_total_delay_and_the_rate_of_the_table() -> None:
    setup = resolve(regret.scenario(Point(CURVES[2], 5, 12), fabricated.TINY, 1))
    assert np.all(setup.total_delay == most_total_delay(5, 12))
    assert setup.zeta == pytest.approx(1 / math.sqrt(most_total_delay(5, 12)))


def test_quick_run_certifies_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = REGRET.run(fabricated.TINY, jobs=1)
    found.show()
    found.write(tmp_path, "regret")
    with (tmp_path / "regret.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(CURVES) * 3  # d = 1 and 5 fit into 12 rounds, and no feedback at all
    assert all(float(row["comparator_gap"]) <= 0.0101 * float(row["regret"]) for row in rows)
    assert (tmp_path / "regret.png").stat().st_size > 10_000
    printed = capsys.readouterr().out
    assert "zeta = 1/sqrt(T)" in printed
    assert "Claims" not in printed
