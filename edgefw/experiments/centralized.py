"""The centralized experiment (Figures 2, 3): DeLMFW, DOFW, BOLD-MFW and DGD on MNIST, delays up to d."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.core.schedule import experiment_rate
from edgefw.experiments import batch
from edgefw.experiments.runner import Outcome

if TYPE_CHECKING:
    from edgefw.experiments.report import Cell
    from edgefw.experiments.size import Size
    from edgefw.scenario.model import Scenario

NAMES: Mapping[str, str] = {"delmfw": "DeLMFW", "dofw": "DOFW", "bold-mfw": "BOLD-MFW", "dgd": "DGD"}
RATES = tuple(10.0 ** (third / 3) for third in range(-9, 4))  # 0.001 to 10, three a decade
QUICK_RATES = RATES[::3]


@dataclass(frozen=True)
class Case:
    """A point of a curve: an algorithm, the largest delay d, and its rate."""

    algorithm: str
    d: int
    rate: float


Runs = Mapping[tuple[Case, int], Outcome]  # by case and seed
Chosen = Mapping[tuple[str, int], Case]  # by algorithm and d


def grid(size: Size) -> tuple[float, ...]:
    """Return the rates among which every algorithm finds its own."""
    return QUICK_RATES if size.quick else RATES


def published(algorithm: str, d: int, size: Size) -> Case:
    """Return an algorithm at zeta = 1/sqrt(d T), the rate of the published runs."""
    return Case(algorithm, d, experiment_rate(size.horizon, d))


def cases(delays: Sequence[int], size: Size) -> list[Case]:
    """Return what is to be run: every algorithm and d at the published rate and over the whole grid."""
    pairs = [(algorithm, d) for d in delays for algorithm in NAMES]
    fixed = [published(algorithm, d, size) for algorithm, d in pairs]
    return fixed + [Case(algorithm, d, rate) for algorithm, d in pairs for rate in grid(size)]


def scenario(case: Case, size: Size, seed: int) -> Scenario:
    """Return the published scenario with the case's algorithm and delays, uniform on ceil(0.1 d)..d.

    K is the integer part of sqrt(T): 31, as in the published runs.
    """
    return size.scenario(
        "paper-centralized",
        seed,
        [
            f"algorithm.name={case.algorithm}",
            f"algorithm.rate={case.rate!r}",
            f"algorithm.sub_iterations={math.isqrt(size.horizon)}",
            f"delays={uniform_delays(case.d)}",
        ],
    )


def uniform_delays(d: int) -> str:
    """Return the fault that makes delays uniform on ceil(0.1 d)..d, for d with a whole middle.

    >>> uniform_delays(21)
    '[{type: rounds, rounds: 12, jitter: 9, distribution: uniform}]'
    """
    low = -(-d // 10)
    if d == low:
        return "[]"
    middle, rest = divmod(low + d, 2)
    if rest:
        raise ValueError(f"d = {d}: {low}..{d} has no whole middle")
    return f"[{{type: rounds, rounds: {middle}, jitter: {d - middle}, distribution: uniform}}]"


def play(delays: Sequence[int], size: Size, jobs: int | None) -> Runs:
    """Simulate every case with every seed."""
    return batch.play_cases("centralized algorithms", cases(delays, size), scenario, size, jobs)


def at_published(runs: Runs, size: Size) -> dict[tuple[str, int], Case]:
    """Return every algorithm and d at the published rate."""
    return {(case.algorithm, case.d): published(case.algorithm, case.d, size) for case, _ in runs}


def tuned(runs: Runs) -> dict[tuple[str, int], Case]:
    """Return every algorithm and d at the rate, of all that were run, with the smallest mean loss."""
    means = batch.means(runs)
    worst_first = sorted(means, key=lambda case: means[case].mean, reverse=True)
    return {(case.algorithm, case.d): case for case in worst_first}


def row(case: Case, seed: int, outcome: Outcome) -> dict[str, Cell]:
    """Return a run as a row of the CSV file."""
    return {
        "algorithm": case.algorithm,
        "d": case.d,
        "rate": case.rate,
        "seed": seed,
        "rounds": outcome.scenario.algorithm.rounds,
        "total_loss": batch.loss(outcome),
        "seconds": round(outcome.wall_seconds, 2),
        "digest": outcome.scenario.digest,
    }
