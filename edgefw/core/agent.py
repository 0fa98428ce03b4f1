"""An agent of any algorithm, made by name from plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core.algorithm import Agent, AlgorithmRecord, Parts, record_of
from edgefw.core.bold import BoldMfw
from edgefw.core.de2mfw import De2mfw
from edgefw.core.delmfw import Delmfw, Mfw
from edgefw.core.dgd import Dgd, DistributedDgd
from edgefw.core.dofw import Dofw, Ofw
from edgefw.core.oracle import NAMES as ORACLES
from edgefw.core.oracle import Ftpl, Ogd, Oracle, make_noise
from edgefw.errors import InputError, unknown
from edgefw.plugins import Registry, check_params
from edgefw.problem.feasible import FeasibleSet, make_set

if TYPE_CHECKING:
    from collections.abc import Mapping

_BUILT_IN = (De2mfw, DistributedDgd, Delmfw, Mfw, Dofw, Ofw, BoldMfw, Dgd)

ALGORITHMS: Registry[AlgorithmRecord] = Registry(
    "algorithm", "edgefw.algorithms", {kind.name: record_of(kind.name, kind) for kind in _BUILT_IN}, record_of
)


def algorithm(name: str) -> AlgorithmRecord:
    """Return the record of an algorithm."""
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
    params: Mapping[str, Any] = field(default_factory=dict)  # of the algorithm
    set_params: Mapping[str, Any] = field(default_factory=dict)  # of the feasible set

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
    chosen = feasible or make_set(spec.feasible, spec.shape, spec.radius, spec.set_params)
    oracle = partial(_oracle, spec, chosen, dtype)
    steps = np.asarray(spec.steps)
    check_params("algorithm.params", record.kind, spec.params, given=1)
    parts = Parts(spec.agent, spec.weights, chosen, steps, spec.zeta, dtype, oracle)
    return record.make(parts, spec.params)


def _oracle(spec: AgentSpec, feasible: FeasibleSet, dtype: np.dtype[Any], copy: int) -> Oracle:
    """Return the K oracles; copy c of a pool draws its fixed noise as if it were agent c."""
    if spec.oracle == "ftpl":
        noise = make_noise(spec.noise, spec.shape, spec.K, seed=spec.seed, agent=spec.agent + copy)
        return Ftpl(feasible, spec.K, spec.zeta, noise, dtype)
    if spec.oracle == "ogd":
        return Ogd(feasible, spec.K, spec.zeta, dtype)
    raise unknown("oracle", spec.oracle, ORACLES)
