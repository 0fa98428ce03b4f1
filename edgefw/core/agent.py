"""An agent of any algorithm, made by name from plain values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core import bold, de2mfw, delmfw, dgd, dofw
from edgefw.core.algorithm import Agent, Algorithm, Parts
from edgefw.core.oracle import NAMES as ORACLES
from edgefw.core.oracle import Ftpl, Ogd, Oracle, make_noise
from edgefw.errors import InputError, unknown
from edgefw.problem.feasible import FeasibleSet, make_set

if TYPE_CHECKING:
    from collections.abc import Mapping

ALGORITHMS: Mapping[str, Algorithm] = {
    record.name: record
    for record in (
        de2mfw.DE2MFW,
        dgd.DISTRIBUTED_DGD,
        delmfw.DELMFW,
        delmfw.MFW,
        dofw.DOFW,
        dofw.OFW,
        bold.BOLD_MFW,
        dgd.DGD,
    )
}


def algorithm(name: str) -> Algorithm:
    """Return the record of an algorithm."""
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    return ALGORITHMS[name]


@dataclass(frozen=True)
class AgentSpec:
    """All that makes one agent: plain values, so that it can be written to a file and read by a process."""

    algorithm: str
    agent: int
    weights: Mapping[int, float]  # w_ij for the agent itself and every neighbour j
    feasible: str
    shape: tuple[int, int]  # (C, m)
    radius: float
    steps: tuple[float, ...]  # eta_1..eta_K
    zeta: float
    oracle: str
    noise: str
    seed: int
    dtype: str

    @property
    def K(self) -> int:  # noqa: N802 - the paper's name
        """The number of sub-iterations of a round."""
        return len(self.steps)

    @property
    def exchanges(self) -> int:
        """How many frames an agent sends to each neighbour in a sweep."""
        return algorithm(self.algorithm).exchanges(self.K)

    @property
    def queries(self) -> int:
        """At how many points of a round the algorithm asks for the gradient."""
        return algorithm(self.algorithm).queries(self.K)


def make_agent(spec: AgentSpec, feasible: FeasibleSet | None = None) -> Agent:
    """Return a new agent; `feasible` replaces the set named in the spec (to count its calls, say)."""
    record, dtype = algorithm(spec.algorithm), np.dtype(spec.dtype)
    if not record.distributed and len(spec.weights) > 1:
        raise InputError(
            f"{record.name} is centralized: set network.agents to 1, or algorithm.name to de2mfw"
        )
    chosen = feasible or make_set(spec.feasible, spec.shape, spec.radius)
    oracle = partial(_oracle, spec, chosen, dtype)
    return record.make(
        Parts(spec.agent, spec.weights, chosen, np.asarray(spec.steps), spec.zeta, dtype, oracle)
    )


def _oracle(spec: AgentSpec, feasible: FeasibleSet, dtype: np.dtype[Any], copy: int) -> Oracle:
    """Return the K oracles; copy c of a pool draws its fixed noise as if it were agent c."""
    if spec.oracle == "ftpl":
        noise = make_noise(spec.noise, spec.shape, spec.K, seed=spec.seed, agent=spec.agent + copy)
        return Ftpl(feasible, spec.K, spec.zeta, noise, dtype)
    if spec.oracle == "ogd":
        return Ogd(feasible, spec.K, spec.zeta, dtype)
    raise unknown("oracle", spec.oracle, ORACLES)
