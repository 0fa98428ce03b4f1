"""The centralized experiment (Figures 2, 3): DeLMFW, DOFW, BOLD-MFW and DGD on MNIST, delays up to d."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.core.schedule import experiment_rate
from edgefw.experiments import batch
from edgefw.experiments.runner import Outcome
from edgefw.experiments.stats import spread

if TYPE_CHECKING:
    from edgefw.experiments.report import Cell
    from edgefw.experiments.size import Size
    from edgefw.scenario.model import Scenario

NAMES: Mapping[str, str] = {"delmfw": "DeLMFW", "dofw": "DOFW", "bold-mfw": "BOLD-MFW", "dgd": "DGD"}
RATES = tuple(10.0 ** (quarter / 4) for quarter in range(-12, 1))  # 0.001 to 1, four a decade
QUICK_RATES = RATES[2::2]


@dataclass(frozen=True)
class Case:
    """A point of a curve: an algorithm, the largest delay d, and its rate."""

    algorithm: str
    d: int
    rate: float


Runs = Mapping[tuple[Case, int], Outcome]  # by case and seed


def cases(delays: Sequence[int], size: Size) -> list[Case]:
    """Return what is to be run: zeta = 1/sqrt(d T) for the projection-free, all rates for DGD."""
    rates = QUICK_RATES if size.quick else RATES
    fixed = [Case(a, d, experiment_rate(size.horizon, d)) for d in delays for a in NAMES if a != "dgd"]
    return fixed + [Case("dgd", d, rate) for d in delays for rate in rates]


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
    wanted = cases(delays, size)
    scenarios = {(case, seed): scenario(case, size, seed) for case in wanted for seed in size.seeds}
    return batch.play("centralized algorithms", scenarios, jobs)


def outcomes(runs: Runs, case: Case) -> list[Outcome]:
    """Return the runs of a case, seed by seed."""
    return [outcome for (played, _), outcome in runs.items() if played == case]


def losses(runs: Runs, case: Case) -> list[float]:
    """Return the total losses of a case, seed by seed."""
    return [batch.loss(outcome) for outcome in outcomes(runs, case)]


def chosen(runs: Runs) -> dict[tuple[str, int], Case]:
    """Return the case of every algorithm and d; of DGD's rates the one with the smallest mean loss."""
    best: dict[tuple[str, int], Case] = {}
    for case in dict.fromkeys(case for case, _ in runs):
        rival = best.get((case.algorithm, case.d))
        if rival is None or spread(losses(runs, case)).mean < spread(losses(runs, rival)).mean:
            best[case.algorithm, case.d] = case
    return best


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
