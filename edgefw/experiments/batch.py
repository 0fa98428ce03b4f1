"""Many runs behind one progress bar, each different one played once; and what they come to, case by case.

A case is what an experiment varies (a graph, an algorithm, a rate); it is run with every seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from edgefw import terminal
from edgefw.core.regret import cumulative_loss, total_loss
from edgefw.experiments import runner
from edgefw.experiments.stats import Spread, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from edgefw.experiments.runner import Outcome
    from edgefw.experiments.size import Size
    from edgefw.scenario.model import Scenario

Key = TypeVar("Key")
Case = TypeVar("Case")


def play(title: str, scenarios: Mapping[Key, Scenario], jobs: int | None) -> dict[Key, Outcome]:
    """Simulate all scenarios, equal ones once; return their outcomes by the same keys."""
    distinct = {scenario.digest: scenario for scenario in scenarios.values()}
    rounds = sum(scenario.algorithm.rounds for scenario in distinct.values())
    with terminal.progress_bar(title, rounds) as progress:
        outcomes = dict(zip(distinct, runner.run_all(list(distinct.values()), progress, jobs), strict=True))
    return {key: outcomes[scenario.digest] for key, scenario in scenarios.items()}


def play_cases(
    title: str,
    cases: Iterable[Case],
    scenario: Callable[[Case, Size, int], Scenario],
    size: Size,
    jobs: int | None,
) -> dict[tuple[Case, int], Outcome]:
    """Simulate every case with every seed; `scenario` returns that of a case, a size and a seed."""
    scenarios = {(case, seed): scenario(case, size, seed) for case in cases for seed in size.seeds}
    return play(title, scenarios, jobs)


def outcomes(runs: Mapping[tuple[Case, int], Outcome], case: Case) -> list[Outcome]:
    """Return the runs of a case, seed by seed."""
    return [outcome for (played, _), outcome in runs.items() if played == case]


def losses(runs: Mapping[tuple[Case, int], Outcome], case: Case) -> list[float]:
    """Return the total losses of a case, seed by seed."""
    return [loss(outcome) for outcome in outcomes(runs, case)]


def means(runs: Mapping[tuple[Case, int], Outcome]) -> dict[Case, Spread]:
    """Return the total loss of every case over its seeds."""
    return {case: spread(losses(runs, case)) for case in dict.fromkeys(case for case, _ in runs)}


def loss(outcome: Outcome) -> float:
    """Return sum_t max_i F_t(x_t^i), the paper's total loss."""
    return total_loss(outcome.trace.global_loss)


def worst_cumulative(outcome: Outcome) -> float:
    """Return max_i sum_t F_t(x_t^i), what the network regret is made of."""
    return float(cumulative_loss(outcome.trace.global_loss).max())


def running_loss(outcome: Outcome) -> NDArray[np.float64]:
    """Return the total loss up to every round, (rounds,)."""
    return np.asarray(outcome.trace.global_loss.max(axis=1).cumsum())
