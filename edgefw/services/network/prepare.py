"""The run folder before its services start: the scenario as it will be run; and what each agent is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.agent import ALGORITHMS
from edgefw.delays.limits import check_limits
from edgefw.errors import InputError
from edgefw.problem.datasets import PUBLISHED
from edgefw.records import SCENARIO, RunFolder
from edgefw.scenario.load import dump
from edgefw.scenario.plan import scenario_plan
from edgefw.services.broker.limits import limits_of
from edgefw.services.config import AgentConfig, Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgefw.scenario.model import Scenario
    from edgefw.scenario.setup import Setup


@dataclass(frozen=True)
class Places:
    """Where every service of a run listens."""

    broker: Place
    observer: Place
    agents: tuple[Place, ...]
    admin: int  # the port of the broker's admin endpoint, on its host


def prepare(setup: Setup, path: Path) -> RunFolder:
    """Make the run folder of an emulated run, with the scenario that its observer reads."""
    check_emulable(setup.scenario)
    return RunFolder.create(path, dump(pin(setup).scenario))


def scenario_path(path: Path) -> Path:
    """Return the scenario file of a run folder."""
    return path / SCENARIO


def journal_path(path: Path) -> Path:
    """Return the broker's journal in a run folder."""
    return path / "journal.sqlite"


def remove_journal(path: Path) -> None:
    """Remove the broker's journal from a run folder, with the files that belong to it."""
    for file in path.glob(f"{journal_path(path).name}*"):
        file.unlink(missing_ok=True)


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
    check_limits(scenario_plan(scenario), limits_of(scenario))
    if scenario.peers.on_loss != "wait":
        raise InputError("peers.on_loss reroute is not available yet: set peers.on_loss=wait")
    if scenario.resume != "anew":
        raise InputError("resume continue is not available yet: set resume=anew")


def pin(setup: Setup) -> Setup:
    """Return the setup with the data that were found written into the scenario.

    Whoever reads the scenario later, from wherever, is to get the same data: `auto` becomes the name of what
    was found, and a folder its full path.
    """
    data = setup.scenario.data
    name = setup.dataset.name
    source = name if name in (*PUBLISHED, "synthetic") else str(Path(name).resolve())
    pinned = setup.scenario.model_copy(update={"data": data.model_copy(update={"source": source})})
    return replace(setup, scenario=pinned)


def shard(setup: Setup, i: int) -> NDArray[np.int64]:
    """Return the samples of agent i in the order of its file.

    A stream over the places 0, 1, ... of that file reads the same batches as the setup's own stream: shuffled
    orders are drawn as places, and drifting data, which are read by index, are sorted by it.
    """
    own = setup.streams[i].shard
    return np.sort(own) if _drifts(setup) else own


def agent_config(setup: Setup, i: int, digest: str, peers: Mapping[int, str], broker: str) -> AgentConfig:
    """Return all that agent i has to know; `peers` and `broker` are addresses."""
    scenario = setup.scenario
    return AgentConfig(
        spec=replace(setup.agent_spec(i), dtype="float32"),
        digest=digest,
        rounds=setup.rounds,
        clock=scenario.clock,
        pace=pace_seconds(scenario),
        peer_timeout=scenario.peers.timeout,
        loss=scenario.problem.loss,
        batch=scenario.problem.batch,
        in_order=_drifts(setup),
        classes=setup.dataset.classes,
        scale=setup.dataset.scale,
        peers=peers,
        broker=broker,
    )


def pace_seconds(scenario: Scenario) -> float:
    """Return the length of a round that is waited for, 0 for as fast as it goes."""
    return 0.0 if scenario.pace == "asap" else scenario.pace


def _drifts(setup: Setup) -> bool:
    return setup.scenario.data.drift > 0
