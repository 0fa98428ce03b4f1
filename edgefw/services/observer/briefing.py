"""What each agent is told when it joins: its part of the problem, and the samples of its shard."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgefw.scenario.setup import loss_params
from edgefw.services.config import AgentConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgefw.scenario.model import Scenario
    from edgefw.scenario.setup import Setup


def shard(setup: Setup, i: int) -> NDArray[np.int64]:
    """Return the samples of agent i in the order of its file.

    A stream over the places 0, 1, ... of that file reads the same batches as the setup's own stream: shuffled
    orders are drawn as places, and data in their own order, which are read by index, are sorted by it.
    """
    own = setup.streams[i].shard
    return np.sort(own) if setup.scenario.data.in_order else own


def agent_config(setup: Setup, i: int, run_id: str, peers: Mapping[int, str], broker: str) -> AgentConfig:
    """Return all that agent i has to know; `peers` and `broker` are addresses."""
    scenario = setup.scenario
    return AgentConfig(
        spec=replace(setup.agent_spec(i), dtype="float32"),
        run_id=run_id,
        rounds=setup.rounds,
        clock=scenario.clock,
        pace=pace_seconds(scenario),
        peer_timeout=scenario.peers.timeout,
        loss=scenario.problem.loss,
        batch=scenario.problem.batch,
        in_order=scenario.data.in_order,
        classes=setup.dataset.classes,
        scale=setup.dataset.scale,
        peers=peers,
        broker=broker,
        loss_params=loss_params(scenario, setup.dataset),
        compute=scenario.devices.compute_of(i),
        checkpoint_every=checkpoint_every(setup),
    )


def checkpoint_every(setup: Setup) -> int:
    """Return the rounds between two checkpoints: what the scenario says, more where the network is wide.

    Neighbours are one exchange apart at most, so any two agents are by no more than the edges between them.
    Those exchanges have to fit between two checkpoints: else agents that die together have kept no two that
    are of the same round, and wait for each other for ever.
    """
    every, exchanges = setup.scenario.checkpoints.every, setup.agent_spec(0).exchanges
    if setup.n <= every * exchanges:  # a shortcut: no network is as wide as it has agents
        return every
    return max(every, -(-setup.graph.diameter // exchanges))


def pace_seconds(scenario: Scenario) -> float:
    """Return the length of a round that is waited for, 0 for as fast as it goes."""
    return 0.0 if scenario.pace == "asap" else scenario.pace
