"""The run folder before its services start: the scenario as it will be run, and each agent's own files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.agent import NEVER_LATE
from edgefw.errors import InputError
from edgefw.problem.datasets import PUBLISHED
from edgefw.records import SCENARIO, RunFolder
from edgefw.scenario.load import dump
from edgefw.services.config import AgentConfig, Place, save_shard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.scenario.model import Scenario
    from edgefw.scenario.setup import Setup

FOLDER = "prepared"


@dataclass(frozen=True)
class Places:
    """Where every service of a run listens."""

    broker: Place
    observer: Place
    agents: tuple[Place, ...]


def prepare(setup: Setup, path: Path, places: Places) -> RunFolder:
    """Make the run folder of an emulated run, with all that its services read."""
    check_emulable(setup.scenario)
    setup = pin(setup)
    run = RunFolder.create(path, dump(setup.scenario))
    try:
        (path / FOLDER).mkdir(exist_ok=True)
        for i in range(setup.n):
            agent_config(setup, i, places).save(config_path(path, i))
            index = shard(setup, i)
            save_shard(shard_path(path, i), setup.dataset.features[index], setup.dataset.labels[index])
    except OSError as error:
        raise InputError(f"cannot write to {path}: {error.strerror}; give another --out") from None
    return run


def scenario_path(path: Path) -> Path:
    """Return the scenario file of a run folder."""
    return path / SCENARIO


def config_path(path: Path, i: int) -> Path:
    """Return the configuration of agent i in a run folder."""
    return path / FOLDER / f"agent-{i}.json"


def shard_path(path: Path, i: int) -> Path:
    """Return the samples of agent i in a run folder."""
    return path / FOLDER / f"agent-{i}.npz"


def check_emulable(scenario: Scenario) -> None:
    """Refuse what the simulator can do and the emulator cannot."""
    if scenario.precision != "float32":
        raise InputError(
            f"precision {scenario.precision} is for the simulator: the emulator computes in float32"
        )
    if scenario.algorithm.name in NEVER_LATE and scenario.clock == "wall":
        raise InputError(
            f"algorithm.name {scenario.algorithm.name} knows no delays, and under the wall clock feedback "
            "may be late: set clock=rounds"
        )
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


def agent_config(setup: Setup, i: int, places: Places) -> AgentConfig:
    """Return all that agent i has to know."""
    scenario = setup.scenario
    return AgentConfig(
        spec=replace(setup.agent_spec(i), dtype="float32"),
        digest=scenario.digest,
        rounds=setup.rounds,
        clock=scenario.clock,
        pace=0.0 if scenario.pace == "asap" else scenario.pace,
        peer_timeout=scenario.peers.timeout,
        loss=scenario.problem.loss,
        batch=scenario.problem.batch,
        in_order=_drifts(setup),
        classes=setup.dataset.classes,
        scale=setup.dataset.scale,
        listen=places.agents[i],
        peers={j: places.agents[j].address for j in setup.graph.neighbours(i)},
        broker=places.broker.address,
        observer=places.observer.address,
    )


def _drifts(setup: Setup) -> bool:
    return setup.scenario.data.drift > 0
