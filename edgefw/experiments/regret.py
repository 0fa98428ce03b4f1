"""Regret against total delay: is it O(sqrt(B))? `growth` says how that is judged.

Everybody's feedback is late by the same d, so that the total delay B grows. The last d is the horizon:
feedback that late changes no play, so that run shows regret without feedback.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.core.schedule import experiment_rate
from edgefw.delays.book import most_total_delay
from edgefw.experiments import experiment, plots, runner
from edgefw.experiments.experiment import Claim, Experiment, Findings, judged, losses, worst_cumulative
from edgefw.experiments.growth import DOUBLED, SATURATED, Growth
from edgefw.experiments.stats import spread
from edgefw.experiments.tables import Table
from edgefw.scenario.setup import resolve

if TYPE_CHECKING:
    from edgefw.core.regret import Comparator
    from edgefw.experiments.runner import Outcome
    from edgefw.experiments.size import Size
    from edgefw.scenario.model import Scenario

DELAYS = (1, 5, 10, 20, 50, 101, 201, 501)
QUICK_DELAYS = (1, 5, 21, 51)


@dataclass(frozen=True)
class Curve:
    """One algorithm in one network, and what its rate knows: the horizon T, the delay d, or B."""

    label: str
    scenario: str
    graph: str
    rate: str  # "1/sqrt(T)", "1/sqrt(d T)" or "1/sqrt(B)"


CURVES = (
    Curve("De2MFW, cycle", "paper-distributed", "cycle", "1/sqrt(T)"),
    Curve("De2MFW, complete", "paper-distributed", "complete", "1/sqrt(T)"),
    Curve("De2MFW, cycle", "paper-distributed", "cycle", "1/sqrt(B)"),
    Curve("De2MFW, complete", "paper-distributed", "complete", "1/sqrt(B)"),
    Curve("DeLMFW", "paper-centralized", "complete", "1/sqrt(d T)"),
)


@dataclass(frozen=True)
class Point:
    """A curve at one delay d, over a horizon of T rounds."""

    curve: Curve
    d: int
    T: int

    @property
    def B(self) -> int:  # noqa: N802 - the paper's name
        """The total delay."""
        return most_total_delay(self.d, self.T)

    @property
    def zeta(self) -> float:
        """The curve's rate."""
        if self.curve.rate == "1/sqrt(B)":
            return 1 / math.sqrt(self.B)
        return experiment_rate(self.T, self.d if self.curve.rate == "1/sqrt(d T)" else 1)


@dataclass(frozen=True, eq=False)
class Measured:
    """What a run came to: its network regret lies in [regret, regret + comparator.gap]."""

    outcome: Outcome
    comparator: Comparator

    @property
    def regret(self) -> float:
        """The network regret, max over agents."""
        return worst_cumulative(self.outcome) - self.comparator.value


Measures = Mapping[Point, Sequence[Measured]]  # seed by seed


def points(size: Size) -> list[Point]:
    """Return every curve at every d, the horizon last."""
    shorter = [d for d in (QUICK_DELAYS if size.quick else DELAYS) if d < size.horizon]
    return [Point(curve, d, size.horizon) for curve in CURVES for d in (*shorter, size.horizon)]


def scenario(point: Point, size: Size, seed: int) -> Scenario:
    """Return the published scenario with everybody late by d."""
    settings = [
        f"network.topology={point.curve.graph}",
        f"algorithm.rate={point.zeta!r}",
        "delays=[]" if point.d == 1 else f"delays=[{{type: rounds, rounds: {point.d}}}]",
    ]
    if point.curve.scenario == "paper-centralized":
        settings.append(f"algorithm.sub_iterations={math.isqrt(point.T)}")
    return size.scenario(point.curve.scenario, seed, settings)


def measure(runs: experiment.Runs[Point]) -> dict[Point, list[Measured]]:
    """Certify the regrets of all runs.

    The best fixed point depends on the data alone, so neither on graph nor on delay: it is certified for the
    run with the least regret, and so for all.
    """
    every = [(point.curve.scenario, outcome) for point, outcomes in runs.items() for outcome in outcomes]
    easiest: dict[tuple[str, int], Outcome] = {}
    for name, outcome in sorted(every, key=lambda each: -worst_cumulative(each[1])):
        easiest[name, outcome.scenario.seed] = outcome
    best = {problem: _certified(problem, outcome) for problem, outcome in easiest.items()}
    return {
        point: [Measured(o, best[point.curve.scenario, o.scenario.seed]) for o in outcomes]
        for point, outcomes in runs.items()
    }


def _certified(problem: tuple[str, int], outcome: Outcome) -> Comparator:
    name, seed = problem
    with terminal.status(f"best fixed point of {name}, seed {seed}:") as tell:
        setup = resolve(outcome.scenario)
        return runner.best_point(
            setup, outcome, lambda c: tell(f"loss {c.value:.2f}, known to {c.gap:.2g}")
        ).comparator


def report(runs: experiment.Runs[Point], size: Size) -> Findings:
    """Return a table for every curve, its growth judged, and regret drawn against B."""
    measures = measure(runs)
    tables = [table(curve, measures) for curve in CURVES]
    tables[-1] = replace(
        tables[-1], note=_explained([each for measured in measures.values() for each in measured])
    )
    rows = [row(point, each) for point, measured in measures.items() for each in measured]
    return Findings(rows, draw(measures, size), judged(claims(measures), size), tables)


def of(curve: Curve, measures: Measures) -> dict[Point, Sequence[Measured]]:
    """Return a curve's runs, point by point."""
    return {point: measured for point, measured in measures.items() if point.curve == curve}


def growth(curve: Curve, measures: Measures) -> Growth:
    """Return how a curve's regret grows with B."""
    found = of(curve, measures)
    regrets = np.array([[run.regret for run in runs] for runs in found.values()]).T
    return Growth(np.array([point.B for point in found], dtype=np.float64), regrets)


def table(curve: Curve, measures: Measures) -> Table:
    """Return one curve, a row a d; the local slope is from the row above, * where growth is judged."""
    found = growth(curve, measures)
    slopes = ["-", *(f"{slope:.2f}" for slope in found.local)]
    rows = [
        [
            f"{point.d}{' *' if i in found.judged else ''}",
            f"{point.B}",
            f"{point.zeta:.5f}",
            str(spread([run.regret for run in runs])),
            f"{100 * found.share[i]:.0f}",
            f"{found.ratio[i]:.3f}",
            slopes[i],
        ]
        for i, (point, runs) in enumerate(of(curve, measures).items())
    ]
    header = ["d", "B", "zeta", "regret", "of blind, %", "/ sqrt(B)", "local slope"]
    return Table(f"{curve.label}: zeta = {curve.rate}", header, rows)


def _explained(measured: Sequence[Measured]) -> str:
    """Say what the columns of all curves are."""
    values = sorted({f"{m.comparator.value:.1f}" for m in measured})
    gap = max(m.comparator.gap / m.regret for m in measured)
    return (
        "Everybody's feedback is late by d; B is the total delay. zeta = 1/sqrt(T) and 1/sqrt(d T) are the "
        "published experiments' schedules; 1/sqrt(B) follows the theorems', which know B. "
        f"Losses of the best fixed points: {', '.join(values)}, certified to {gap:.1%} of any regret. "
        "Blind is the last row: no feedback comes in time for any play. "
        f"Growth is judged (*) from {DOUBLED:g} times the regret without delay to {SATURATED:.0%} of blind."
    )


def claims(measures: Measures) -> list[Claim]:
    """Return for every curve whether regret grows no faster than sqrt(B)."""
    return [_claim(curve, growth(curve, measures)) for curve in CURVES]


def _claim(curve: Curve, found: Growth) -> Claim:
    claim = f"{curve.label}, zeta = {curve.rate}: regret grows no faster than sqrt(B)"
    return Claim(claim, found.holds, found.evidence())


def draw(measures: Measures, size: Size) -> plots.Drawing:
    """Draw regret against B, and what is left of it when sqrt(B) is divided out."""
    x_label = "B, total delay (rounds)"
    whole, divided = _lines(measures, divide=False), _lines(measures, divide=True)
    panels = [
        plots.Panel(
            "network regret", x_label, "regret (nats)", whole, log_x=True, log_y=True, slope_half=True
        ),
        plots.Panel("regret / sqrt(B)", x_label, "regret / sqrt(B)", divided, log_x=True, from_zero=True),
    ]
    note = f"T = {size.horizon}, every agent late by the same delay; mean and range over {size.over_seeds}"
    return plots.Drawing("regret", panels, note)


def _lines(measures: Measures, *, divide: bool) -> list[plots.Line]:
    lines = []
    networks = list(dict.fromkeys((curve.scenario, curve.graph) for curve in CURVES))
    for curve in CURVES:
        colour = networks.index((curve.scenario, curve.graph))
        values = [
            (point.B, [run.regret / (math.sqrt(point.B) if divide else 1) for run in runs])
            for point, runs in of(curve, measures).items()
        ]
        label = f"{curve.label}, {curve.rate}"
        lines.append(plots.line(label, values, colour, dashed=curve.rate == "1/sqrt(B)"))
    return lines


def row(point: Point, measured: Measured) -> experiment.Row:
    """Return a run as a row of the CSV file."""
    scenario = measured.outcome.scenario
    return {
        "curve": point.curve.label,
        "rate": point.curve.rate,
        "zeta": point.zeta,
        "d": point.d,
        "total_delay": point.B,
        "seed": scenario.seed,
        "rounds": scenario.algorithm.rounds,
        "total_loss": losses([measured.outcome])[0],
        "regret": measured.regret,
        "regret_over_sqrt_B": measured.regret / math.sqrt(point.B),
        "comparator_loss": measured.comparator.value,
        "comparator_gap": measured.comparator.gap,
        "digest": scenario.digest,
    }


REGRET = Experiment("regret against total delay", ("fashion-mnist", "mnist"), points, scenario, report)
