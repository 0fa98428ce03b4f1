"""The same run with nobody late: what the delays of a run cost is its distance from this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.errors import InputError
from edgefw.experiments import runner
from edgefw.prompt import without_delays
from edgefw.scenario.setup import Setup, first_rounds, resolve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgefw.records import RunFolder
    from edgefw.scenario.model import Scenario


def prompt_losses(folder: RunFolder, scenario: Scenario, rounds: int) -> NDArray[np.float64]:
    """Return F_t(x_t^i) of the run in a folder, had nobody been late, (rounds, n): simulated.

    Raises InputError where that cannot be done here.
    """
    summary, meta = folder.summary(), folder.meta()
    rate = float(meta["rate"]) if "rate" in meta else None if summary is None else summary.rate
    setup = first_rounds(resolve(without_delays(scenario, rate)), rounds)
    _check_data(setup, meta.get("data_digest"), None if summary is None else summary.data)
    with terminal.progress_bar(f"simulating {scenario.name} without delays", rounds) as progress:
        return runner.run(setup, progress).trace.global_loss


def _check_data(setup: Setup, digest: str | None, name: str | None) -> None:
    """Refuse other data than the run's: nothing could be read from the difference."""
    found = setup.dataset
    if (digest or found.digest) != found.digest or (name or found.name) != found.name:
        raise InputError(f"the run learned from {name or 'other data'}, and here that is {found.name}")
