"""Regret against total delay: is it O(sqrt(B))? `growth` says how that is judged."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.experiments import batch, plots, report, sweep
from edgefw.experiments.growth import DOUBLED, SATURATED, Growth
from edgefw.experiments.report import Cell, Verdict
from edgefw.experiments.size import Size, with_data
from edgefw.experiments.stats import spread
from edgefw.experiments.sweep import CURVES, Curve, Measured, Measures, Point

if TYPE_CHECKING:
    from pathlib import Path


def regret(size: Size, out: Path, jobs: int | None) -> None:
    """Measure the network regret of De2MFW and DeLMFW for growing B."""
    sizes = {
        "paper-distributed": with_data(size, "fashion-mnist"),
        "paper-centralized": with_data(size, "mnist"),
    }
    measures = sweep.measure(sizes, jobs)
    for curve in CURVES:
        print_table(curve, measures)
    _explain(measures)
    rows = [row(*item) for item in measures.items()]
    said = verdicts(measures) if size.compares else []
    report.conclude(out / "regret.csv", rows, draw(measures, size, out), said)


def of(curve: Curve, measures: Measures) -> dict[int, list[Measured]]:
    """Return a curve's runs by d, seed by seed."""
    found: dict[int, list[Measured]] = {}
    for point, measured in measures.items():
        if point.curve == curve:
            found.setdefault(point.d, []).append(measured)
    return found


def growth(curve: Curve, measures: Measures) -> Growth:
    """Return how a curve's regret grows with B."""
    by_delay = of(curve, measures).values()
    regrets = np.array([[run.regret for run in runs] for runs in by_delay]).T
    return Growth(np.array([runs[0].B for runs in by_delay], dtype=np.float64), regrets)


def print_table(curve: Curve, measures: Measures) -> None:
    """Print one curve, a row a d; the local slope is from the row above, * where growth is judged."""
    found, by_delay = growth(curve, measures), of(curve, measures)
    slopes = ["-", *(f"{slope:.2f}" for slope in found.local)]
    rows = [
        [
            f"{d}{' *' if i in found.judged else ''}",
            f"{runs[0].B}",
            f"{runs[0].zeta:.5f}",
            str(spread([run.regret for run in runs])),
            f"{100 * found.share[i]:.0f}",
            f"{found.ratio[i]:.3f}",
            slopes[i],
        ]
        for i, (d, runs) in enumerate(by_delay.items())
    ]
    header = ["d", "B", "zeta", "regret", "of blind, %", "/ sqrt(B)", "local slope"]
    terminal.table(f"{curve.label}: zeta = {curve.rate}", header, rows)


def _explain(measures: Measures) -> None:
    values = sorted({f"{m.comparator.value:.1f}" for m in measures.values()})
    gap = max(m.comparator.gap / m.regret for m in measures.values())
    terminal.out.print(
        "Everybody's feedback is late by d; B is the total delay. zeta = 1/sqrt(T) and 1/sqrt(d T) are the "
        "published experiments' schedules; 1/sqrt(B) follows the theorems', which know B. "
        f"Losses of the best fixed points: {', '.join(values)}, certified to {gap:.1%} of any regret. "
        "Blind is the last row: no feedback comes in time for any play. "
        f"Growth is judged (*) from {DOUBLED:g} times the regret without delay to {SATURATED:.0%} of blind."
    )


def verdicts(measures: Measures) -> list[Verdict]:
    """Return for every curve whether regret grows no faster than sqrt(B)."""
    return [_verdict(curve, growth(curve, measures)) for curve in CURVES]


def _verdict(curve: Curve, found: Growth) -> Verdict:
    claim = f"{curve.label}, zeta = {curve.rate}: regret grows no faster than sqrt(B)"
    return Verdict(claim, found.holds, found.evidence())


def draw(measures: Measures, size: Size, out: Path) -> list[Path]:
    """Draw regret against B, and what is left of it when sqrt(B) is divided out."""
    x_label = "B, total delay (rounds)"
    left = plots.Panel(
        "network regret",
        x_label,
        "regret (nats)",
        _lines(measures, divide=False),
        log_x=True,
        log_y=True,
        slope_half=True,
    )
    right = plots.Panel(
        "regret / sqrt(B)",
        x_label,
        "regret / sqrt(B)",
        _lines(measures, divide=True),
        log_x=True,
        from_zero=True,
    )
    note = f"T = {size.horizon}, every agent late by the same delay; mean and range over {size.over_seeds}"
    return plots.save([left, right], out / "regret", note=note)


def _lines(measures: Measures, *, divide: bool) -> list[plots.Line]:
    lines = []
    networks = list(dict.fromkeys((curve.scenario, curve.graph) for curve in CURVES))
    for curve in CURVES:
        colour = networks.index((curve.scenario, curve.graph))
        points = [
            (float(runs[0].B), [run.regret / (math.sqrt(run.B) if divide else 1) for run in runs])
            for runs in of(curve, measures).values()
        ]
        lines.append(
            plots.line(f"{curve.label}, {curve.rate}", points, colour, dashed=curve.rate == "1/sqrt(B)")
        )
    return lines


def row(point: Point, measured: Measured) -> dict[str, Cell]:
    """Return a run as a row of the CSV file."""
    return {
        "curve": point.curve.label,
        "rate": point.curve.rate,
        "zeta": measured.zeta,
        "d": point.d,
        "total_delay": measured.B,
        "seed": point.seed,
        "rounds": measured.outcome.scenario.algorithm.rounds,
        "total_loss": batch.loss(measured.outcome),
        "regret": measured.regret,
        "regret_over_sqrt_B": measured.regret / math.sqrt(measured.B),
        "comparator_loss": measured.comparator.value,
        "comparator_gap": measured.comparator.gap,
        "digest": measured.outcome.scenario.digest,
    }
