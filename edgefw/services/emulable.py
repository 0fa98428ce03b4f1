"""Whether a scenario can be emulated, and the same scenario with its data pinned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.core.agent import ALGORITHMS
from edgefw.errors import InputError
from edgefw.problem.datasets import PUBLISHED, is_extension
from edgefw.scenario.plan import declared_limits, scenario_plan

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario
    from edgefw.scenario.setup import Setup


def check_emulable(scenario: Scenario) -> None:
    """Refuse what the simulator can do and the emulator cannot."""
    if scenario.precision != "float32":
        raise InputError(
            f"precision {scenario.precision} is for the simulator: the emulator computes in float32"
        )
    if ALGORITHMS[scenario.algorithm.name].under_delay is not None and scenario.clock == "wall":
        raise InputError(
            f"algorithm.name {scenario.algorithm.name} knows no delays, and under the wall clock feedback "
            "may be late: set clock=rounds"
        )
    scenario_plan(scenario).check_limits(declared_limits(scenario))
    if scenario.peers.on_loss != "wait":
        raise InputError("peers.on_loss reroute is not available yet: set peers.on_loss=wait")


def pin(setup: Setup) -> Setup:
    """Return the setup with the data that were found written into the scenario.

    Whoever reads the scenario later, from wherever, is to get the same data: `auto` becomes the name of what
    was found, and a folder its full path.
    """
    data = setup.scenario.data
    name = setup.dataset.name
    named = name in (*PUBLISHED, "synthetic") or is_extension(name)
    source = name if named else str(Path(name).resolve())
    pinned = setup.scenario.model_copy(update={"data": data.model_copy(update={"source": source})})
    return replace(setup, scenario=pinned)
