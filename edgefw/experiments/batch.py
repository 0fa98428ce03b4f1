"""Many runs behind one progress bar, each different one played once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from edgefw import terminal
from edgefw.core.regret import cumulative_loss, total_loss
from edgefw.experiments import runner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgefw.experiments.runner import Outcome
    from edgefw.scenario.model import Scenario

Key = TypeVar("Key")


def play(title: str, scenarios: Mapping[Key, Scenario], jobs: int | None) -> dict[Key, Outcome]:
    """Simulate all scenarios, equal ones once; return their outcomes by the same keys."""
    distinct = {scenario.digest: scenario for scenario in scenarios.values()}
    rounds = sum(scenario.algorithm.rounds for scenario in distinct.values())
    with terminal.progress_bar(title, rounds) as progress:
        outcomes = dict(zip(distinct, runner.run_all(list(distinct.values()), progress, jobs), strict=True))
    return {key: outcomes[scenario.digest] for key, scenario in scenarios.items()}


def loss(outcome: Outcome) -> float:
    """Return sum_t max_i F_t(x_t^i), the paper's total loss."""
    return total_loss(outcome.trace.global_loss)


def worst_cumulative(outcome: Outcome) -> float:
    """Return max_i sum_t F_t(x_t^i), what the network regret is made of."""
    return float(cumulative_loss(outcome.trace.global_loss).max())


def running_loss(outcome: Outcome) -> NDArray[np.float64]:
    """Return the total loss up to every round, (rounds,)."""
    return np.asarray(outcome.trace.global_loss.max(axis=1).cumsum())
