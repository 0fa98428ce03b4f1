"""Regret against total delay: is it O(sqrt(B))? Slopes on log-log axes, and regret / sqrt(B) itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.experiments import batch, plots, report, sweep
from edgefw.experiments.report import Cell, Verdict
from edgefw.experiments.size import Size, with_data
from edgefw.experiments.stats import MAX_SLOPE, Spread, local_slopes, log_slope, spread
from edgefw.experiments.sweep import CURVES, Curve, Measured, Measures, Point

if TYPE_CHECKING:
    from pathlib import Path

Means = Mapping[int, Spread]  # of the regret, by d


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
    written = [report.write_rows(out / "regret.csv", [row(*item) for item in measures.items()])]
    written += draw(measures, size, out)
    written += report.conclude(verdicts(measures) if size.compares else [], out)
    report.say_where(written)


def of(curve: Curve, measures: Measures) -> dict[int, list[Measured]]:
    """Return a curve's runs by d, seed by seed."""
    found: dict[int, list[Measured]] = {}
    for point, measured in measures.items():
        if point.curve == curve:
            found.setdefault(point.d, []).append(measured)
    return found


def print_table(curve: Curve, measures: Measures) -> None:
    """Print one curve, a row a d; the local slope is from the row above."""
    by_delay = of(curve, measures)
    B = [runs[0].B for runs in by_delay.values()]
    means = [spread([run.regret for run in runs]) for runs in by_delay.values()]
    rises = ["-", *(f"{s:.2f}" for s in local_slopes(B, [m.mean for m in means]))]
    rows = [
        [
            str(d),
            f"{runs[0].B}",
            f"{runs[0].zeta:.5f}",
            str(mean),
            _gap(runs),
            f"{mean.mean / math.sqrt(runs[0].B):.3f}",
            rise,
        ]
        for (d, runs), mean, rise in zip(by_delay.items(), means, rises, strict=True)
    ]
    header = ["d", "B", "zeta", "regret", "gap, %", "/ sqrt(B)", "local slope"]
    terminal.table(f"{curve.label}: zeta = {curve.rate}", header, rows)


def _gap(runs: Sequence[Measured]) -> str:
    """Return the widest certificate among the runs, in percent of their regret."""
    return f"{max(100 * run.comparator.gap / run.regret for run in runs):.2f}"


def _explain(measures: Measures) -> None:
    values = sorted({f"{m.comparator.value:.1f}" for m in measures.values()})
    terminal.out.print(
        "Everybody's feedback is late by d; B is the total delay. zeta = 1/sqrt(T) and 1/sqrt(d T) are the "
        "published experiments' schedules; 1/sqrt(B) follows the theorems', which know B. "
        f"Losses of the best fixed points: {', '.join(values)}; gap: how far below the true optimum may lie."
    )


def slopes(curve: Curve, measures: Measures, *, late_only: bool = False) -> Spread:
    """Return the slope of log regret against log B, fitted seed by seed."""
    by_delay = {d: runs for d, runs in of(curve, measures).items() if d > 1 or not late_only}
    B = [runs[0].B for runs in by_delay.values()]
    seeds = range(min(len(runs) for runs in by_delay.values()))
    return spread([log_slope(B, [runs[seed].regret for runs in by_delay.values()]) for seed in seeds])


def verdicts(measures: Measures) -> list[Verdict]:
    """Return for every curve whether regret grows no faster than sqrt(B)."""
    return [verdict for curve in CURVES for verdict in (_slope(curve, measures), _bounded(curve, measures))]


def _slope(curve: Curve, measures: Measures) -> Verdict:
    found, late = slopes(curve, measures), slopes(curve, measures, late_only=True)
    evidence = (
        f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f} over seeds); "
        f"{late.mean:.3f} ({late.low:.3f} to {late.high:.3f}) without d = 1"
    )
    return Verdict(
        f"{curve.label}: slope of regret against B at most {MAX_SLOPE}", found.high <= MAX_SLOPE, evidence
    )


def _bounded(curve: Curve, measures: Measures) -> Verdict:
    ratios = {
        d: spread([run.regret for run in runs]).mean / math.sqrt(runs[0].B)
        for d, runs in of(curve, measures).items()
    }
    free, worst = ratios.pop(1), max(ratios, key=ratios.__getitem__)
    evidence = f"{free:.2f} without delay, at most {ratios[worst]:.2f} with (d = {worst})"
    return Verdict(
        f"{curve.label}: regret / sqrt(B) is largest without delay", ratios[worst] <= free, evidence
    )


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
        lines.append(plots.line(curve.label, points, colour, dashed=curve.rate == "1/sqrt(B)"))
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
