"""The regret sweep: everybody's feedback is late by the same d, so that the total delay B grows.

The last d is the horizon: feedback that late changes no play, so that run shows regret without feedback.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.core.schedule import experiment_rate
from edgefw.delays.book import most_total_delay
from edgefw.experiments import batch, runner
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
    """One run of a curve."""

    curve: Curve
    d: int
    seed: int


@dataclass(frozen=True, eq=False)
class Measured:
    """What a run came to: its network regret lies in [regret, regret + comparator.gap]."""

    outcome: Outcome
    comparator: Comparator
    B: int
    zeta: float

    @property
    def regret(self) -> float:
        """The network regret, max over agents."""
        return batch.worst_cumulative(self.outcome) - self.comparator.value


Measures = Mapping[Point, Measured]


def rate(curve: Curve, d: int, T: int) -> float:
    """Return the curve's zeta."""
    if curve.rate == "1/sqrt(B)":
        return 1 / math.sqrt(most_total_delay(d, T))
    return experiment_rate(T, d if curve.rate == "1/sqrt(d T)" else 1)


def scenario(point: Point, size: Size) -> Scenario:
    """Return the published scenario with everybody late by d."""
    curve, T = point.curve, size.horizon
    settings = [
        f"network.topology={curve.graph}",
        f"algorithm.rate={rate(curve, point.d, T)!r}",
        "delays=[]" if point.d == 1 else f"delays=[{{type: rounds, rounds: {point.d}}}]",
    ]
    if curve.scenario == "paper-centralized":
        settings.append(f"algorithm.sub_iterations={math.isqrt(T)}")
    return size.scenario(curve.scenario, point.seed, settings)


def measure(sizes: Mapping[str, Size], jobs: int | None) -> dict[Point, Measured]:
    """Run all curves and certify their regrets; `sizes` is by the name of the scenario."""
    points = [
        Point(c, d, seed)
        for c in CURVES
        for d in delays(sizes[c.scenario])
        for seed in sizes[c.scenario].seeds
    ]
    scenarios = {point: scenario(point, sizes[point.curve.scenario]) for point in points}
    outcomes = batch.play("regret against total delay", scenarios, jobs)
    best = comparators(outcomes)
    return {point: _measured(point, outcome, best) for point, outcome in outcomes.items()}


def delays(size: Size) -> tuple[int, ...]:
    """Return the d of the sweep, the horizon last."""
    shorter = (d for d in (QUICK_DELAYS if size.quick else DELAYS) if d < size.horizon)
    return (*shorter, size.horizon)


def _measured(point: Point, outcome: Outcome, best: Mapping[tuple[str, int], Comparator]) -> Measured:
    T = outcome.scenario.algorithm.horizon
    zeta = rate(point.curve, point.d, T)
    return Measured(outcome, best[_problem(point)], most_total_delay(point.d, T), zeta)


def _problem(point: Point) -> tuple[str, int]:
    """Return what the best fixed point depends on: neither graph nor delay."""
    return point.curve.scenario, point.seed


def comparators(outcomes: Mapping[Point, Outcome]) -> dict[tuple[str, int], Comparator]:
    """Return every problem's best fixed point, certified for the run with the least regret, thus for all."""
    easiest: dict[tuple[str, int], Outcome] = {}
    for point, outcome in sorted(outcomes.items(), key=lambda item: -batch.worst_cumulative(item[1])):
        easiest[_problem(point)] = outcome
    return {problem: _certified(problem, outcome) for problem, outcome in easiest.items()}


def _certified(problem: tuple[str, int], outcome: Outcome) -> Comparator:
    name, seed = problem
    with terminal.status(f"best fixed point of {name}, seed {seed}:") as tell:
        setup = resolve(outcome.scenario)
        return runner.comparator(setup, outcome, lambda c: tell(f"loss {c.value:.2f}, known to {c.gap:.2g}"))
