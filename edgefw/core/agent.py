"""Every algorithm behind one contract, that of `De2mfw`: an agent that sweeps; made by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from edgefw.core.bold import BoldMfw
from edgefw.core.de2mfw import De2mfw
from edgefw.core.delmfw import Delmfw, Learner, Mfw
from edgefw.core.dgd import Dgd, DistributedDgd
from edgefw.core.dofw import Dofw
from edgefw.core.messages import Feedback, Frame, Play
from edgefw.core.oracle import NAMES as ORACLES
from edgefw.core.oracle import Ftpl, Ogd, Oracle, make_noise
from edgefw.errors import InputError, unknown
from edgefw.problem.feasible import FeasibleSet, make_set

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DISTRIBUTED = ("de2mfw", "distributed-dgd")
CENTRALIZED = ("delmfw", "mfw", "dofw", "ofw", "bold-mfw", "dgd")
ALGORITHMS = DISTRIBUTED + CENTRALIZED
GRADIENT_AT_PLAY = ("distributed-dgd", "dofw", "ofw", "dgd")  # one gradient a round, at the play itself
NEVER_LATE = ("mfw", "ofw")  # what the delayed algorithms reduce to without delay


class Agent(Protocol):
    """One agent of any algorithm; see `de2mfw` for the theory of operation."""

    agent: int
    neighbours: tuple[int, ...]
    applied: int

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Take F_{t-1} and begin round t; return the frame (t, 1)."""
        ...

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        """Take every neighbour's frame (t, k); return the frame (t, k+1) or the play."""
        ...


class Alone:
    """A learner of the centralized setting, as an agent without neighbours."""

    neighbours: tuple[int, ...] = ()

    def __init__(self, learner: Learner, feasible: FeasibleSet) -> None:
        self.agent, self.applied = 0, 0
        self.learner = learner
        self._start = feasible.start()
        self._t = 0

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Let the learner take F_{t-1}."""
        if t > 1:
            self.learner.update(t - 1, arrivals)
        self.applied += len(arrivals)
        self._t = t
        return Frame(self.agent, t, 1, self._start, None)

    def advance(self, frames: Mapping[int, Frame]) -> Play:  # noqa: ARG002 - there are none
        """Let the learner play round t."""
        return self.learner.play(self._t)


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
        return self.K if self.algorithm == "de2mfw" else 1

    @property
    def queries(self) -> int:
        """At how many points of a round the algorithm asks for the gradient."""
        return 1 if self.algorithm in GRADIENT_AT_PLAY else self.K


def make_agent(spec: AgentSpec, feasible: FeasibleSet | None = None) -> Agent:
    """Return a new agent; `feasible` replaces the set named in the spec (to count its calls, say)."""
    if spec.algorithm not in ALGORITHMS:
        raise unknown("algorithm", spec.algorithm, ALGORITHMS)
    chosen = feasible or make_set(spec.feasible, spec.shape, spec.radius)
    dtype = np.dtype(spec.dtype)
    if spec.algorithm == "de2mfw":
        steps = np.asarray(spec.steps)
        return De2mfw(spec.agent, spec.weights, chosen, _oracle(spec, chosen, dtype), steps, dtype)
    if spec.algorithm == "distributed-dgd":
        return DistributedDgd(spec.agent, spec.weights, chosen, spec.zeta, dtype)
    if len(spec.weights) > 1:
        raise InputError(
            f"{spec.algorithm} is centralized: set network.agents to 1, or algorithm.name to de2mfw"
        )
    return Alone(_learner(spec, chosen, dtype), chosen)


def _learner(spec: AgentSpec, feasible: FeasibleSet, dtype: np.dtype[Any]) -> Learner:
    steps = np.asarray(spec.steps)
    if spec.algorithm == "delmfw":
        return Delmfw(feasible, _oracle(spec, feasible, dtype), steps, dtype)
    if spec.algorithm == "mfw":
        return Mfw(feasible, _oracle(spec, feasible, dtype), steps, dtype)
    if spec.algorithm == "bold-mfw":
        return BoldMfw(lambda copy: Mfw(feasible, _oracle(spec, feasible, dtype, copy), steps, dtype))
    if spec.algorithm in ("dofw", "ofw"):
        return Dofw(feasible, spec.zeta, dtype)
    return Dgd(feasible, spec.zeta, dtype)


def _oracle(spec: AgentSpec, feasible: FeasibleSet, dtype: np.dtype[Any], copy: int = 0) -> Oracle:
    """Return the K oracles; copy c of a pool draws its fixed noise as if it were agent c."""
    if spec.oracle == "ftpl":
        noise = make_noise(spec.noise, spec.shape, spec.K, seed=spec.seed, agent=spec.agent + copy)
        return Ftpl(feasible, spec.K, spec.zeta, noise, dtype)
    if spec.oracle == "ogd":
        return Ogd(feasible, spec.K, spec.zeta, dtype)
    raise unknown("oracle", spec.oracle, ORACLES)
