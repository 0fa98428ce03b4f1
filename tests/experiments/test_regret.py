from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

import fabricated
import numpy as np
import pytest

from edgefw.core.regret import Comparator
from edgefw.experiments import regret, sweep
from edgefw.experiments.size import Size
from edgefw.experiments.sweep import CURVES, Measured, Point
from edgefw.scenario.setup import resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FULL = Size((1, 2, 3))


def fabricate(law: Callable[[int, int], float]) -> dict[Point, Measured]:
    """Return measures whose regret is law(B, seed)."""
    measures = {}
    for curve in CURVES:
        for d in sweep.DELAYS:
            for seed in FULL.seeds:
                point, B = Point(curve, d, seed), sweep.constant_total(d, 1000)
                run = fabricated.outcome(sweep.scenario(point, FULL), 500 + law(B, seed))
                measures[point] = Measured(run, Comparator(500.0, 1.0), B, sweep.rate(curve, d, 1000))
    return measures


def test_square_root_growth_is_on_the_line_and_counts_as_met() -> None:
    found = regret.slopes(CURVES[0], fabricate(lambda B, seed: 0.9999 * seed * math.sqrt(B) ** 0.999))
    assert found.mean == pytest.approx(0.4995, abs=1e-6)
    assert found.high - found.low == pytest.approx(0, abs=1e-9)


def test_slower_growth_meets_every_claim() -> None:
    assert all(v.holds for v in regret.verdicts(fabricate(lambda B, seed: 250 + seed + 4 * math.sqrt(B))))


def test_faster_growth_fails_every_claim() -> None:
    assert not any(v.holds for v in regret.verdicts(fabricate(lambda B, seed: seed * B**0.6)))


def test_one_seed_that_grows_too_fast_is_enough_to_fail() -> None:
    verdicts = regret.verdicts(fabricate(lambda B, seed: B ** (0.55 if seed == 3 else 0.2)))
    assert verdicts[0].holds is False
    assert "0.550 over seeds" in verdicts[0].evidence


@pytest.mark.parametrize(("d", "T"), [(1, 100), (7, 100), (100, 100), (501, 1000)])
def test_total_delay_of_a_constant_is_its_formula(d: int, T: int) -> None:
    assert sweep.constant_total(d, T) == d * T - d * (d - 1) // 2


def test_the_rates_know_what_the_table_says_they_know() -> None:
    by_rate = {curve.rate: sweep.rate(curve, 501, 1000) for curve in CURVES}
    assert by_rate["1/sqrt(T)"] == pytest.approx(1 / math.sqrt(1000))
    assert by_rate["1/sqrt(d T)"] == pytest.approx(1 / math.sqrt(501_000))
    assert by_rate["1/sqrt(B)"] == pytest.approx(1 / math.sqrt(375_750))


def test_the_scenario_has_the_total_delay_and_the_rate_of_the_table() -> None:
    setup = resolve(sweep.scenario(Point(CURVES[2], 5, 1), fabricated.TINY))
    assert np.all(setup.total_delay == sweep.constant_total(5, 12))
    assert setup.zeta == pytest.approx(1 / math.sqrt(sweep.constant_total(5, 12)))


def test_quick_run_certifies_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    regret.regret(fabricated.TINY, tmp_path, jobs=1)
    with (tmp_path / "regret.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(CURVES) * 2  # d = 1 and 5 fit into 12 rounds
    assert all(float(row["comparator_gap"]) <= 0.0101 * float(row["regret"]) for row in rows)
    assert (tmp_path / "regret.png").stat().st_size > 10_000
    printed = capsys.readouterr().out
    assert "zeta = 1/sqrt(T)" in printed
    assert "Claims" not in printed
