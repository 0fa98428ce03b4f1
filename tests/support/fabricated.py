"""Runs that were never run: outcomes with chosen losses, to put verdicts and tables to the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.experiments.runner import Outcome
from edgefw.experiments.size import Size
from edgefw.simulator import Trace

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

TINY = Size(
    (1,),
    horizon=12,
    quick=True,
    overrides=("data.source=synthetic", "data.samples=120", "data.features=20", "data.classes=4"),
)


def outcome(scenario: Scenario, total: float) -> Outcome:
    """Return a run whose losses add up to `total`."""
    losses = np.full((10, 1), total / 10)
    return Outcome(scenario, Trace(losses, losses), 0.0)
