"""The same run with nobody late: what late feedback costs is the distance of a run from this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve
from edgefw.simulator import play

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from edgefw.scenario.model import Scenario


def without_delays(scenario: Scenario, rate: float | None) -> Scenario:
    """Return the scenario with nobody late: its seed, data and network, and the rate that was played.

    A derived rate may reckon with the delays that are taken away: it is kept, so that only they differ.
    """
    kept = {} if rate is None else {"algorithm.rate": rate}
    return load(scenario, {"delays": [], "events": [], **kept})


def prompt_rounds(scenario: Scenario) -> Iterator[NDArray[np.float64]]:
    """Yield F_t(x_t^i) of rounds 1, 2, ... of a scenario, had nobody been late, (n,) each: simulated."""
    planned = resolve(scenario)
    setup = resolve(without_delays(scenario, planned.zeta), planned.dataset)
    return (played.global_loss for played in play(setup))
