"""A scenario resolved: data, streams, graph, weights, set, schedule and delays, ready to be run."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core import schedule
from edgefw.core.agent import ALGORITHMS, AgentSpec, make_agent
from edgefw.delays.body import plan_body
from edgefw.delays.book import total_delay
from edgefw.errors import InputError
from edgefw.problem.datasets import load
from edgefw.problem.feasible import FeasibleSet, make_set
from edgefw.problem.graph import Graph, build, mixing_weights
from edgefw.problem.loss import LOSSES, Labels, Loss, make_loss
from edgefw.problem.partition import partition
from edgefw.problem.stream import Stream
from edgefw.scenario.extensions import origins_to_json
from edgefw.scenario.plan import delay_plan, timed
from edgefw.scenario.rate import Rate, rate_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from edgefw.core.algorithm import Agent
    from edgefw.problem.dataset import Dataset
    from edgefw.problem.feasible.base import Real
    from edgefw.scenario.data import Data
    from edgefw.scenario.model import Scenario


_READ = {
    "samples",
    "drift",
    "params",
    "target",
    "targets",
    "scale",
    "scaling",
    "features",
    "classes",
    "noise",
}


@dataclass(frozen=True, eq=False)
class Setup:
    """All that a run of `scenario` is made of. Nothing in it is drawn later: a run is a function of this."""

    scenario: Scenario
    dataset: Dataset
    streams: tuple[Stream, ...]
    graph: Graph
    loss: Loss
    feasible: FeasibleSet
    delays: NDArray[np.int64]  # (n, rounds): the delay of the feedback of round s stands in column s-1

    @property
    def n(self) -> int:
        """The number of agents."""
        return self.scenario.network.agents

    @property
    def rounds(self) -> int:
        """How many rounds are played: the horizon, or less."""
        return self.scenario.algorithm.rounds

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """What the run computes in."""
        return np.dtype(self.scenario.precision)

    @cached_property
    def W(self) -> NDArray[np.float64]:  # noqa: N802 - the paper's name
        """The mixing weights, (n, n)."""
        return mixing_weights(self.graph)

    @cached_property
    def constants(self) -> tuple[float, float]:
        """G and beta, the Lipschitz and smoothness constants of the losses."""
        bounds = self.loss.constants(self.dataset.max_norm(), self.feasible.max_norm, self.dataset.spread)
        return bounds.G, bounds.beta

    @cached_property
    def total_delay(self) -> NDArray[np.int64]:
        """B_i = sum over s of min(delay, rounds - s + 1), (n,)."""
        return total_delay(self.delays)

    @cached_property
    def steps(self) -> schedule.Steps:
        """eta_1..eta_K of the scenario's schedule."""
        algorithm = self.scenario.algorithm
        K = algorithm.sub_iterations or schedule.sub_iterations(algorithm.horizon)
        if algorithm.schedule == "experiment":
            return schedule.experiment_steps(K)
        G, beta = self.constants
        distributed = not algorithm.centralized
        return schedule.theorem_steps(K, G=G, beta=beta, D=self.feasible.diameter, distributed=distributed)

    @cached_property
    def rate(self) -> Rate:
        """The oracle rate and its reason: it depends on what the scenario declares, never on `delays`."""
        return rate_of(self.scenario, lambda: self.constants[0])

    @property
    def zeta(self) -> float:
        """The oracle rate itself."""
        return self.rate.value

    @property
    def noise(self) -> str:
        """FTPL's noise: `fixed` in a network, `fresh` for a lone learner, unless the scenario says."""
        chosen = self.scenario.algorithm.noise
        if chosen != "auto":
            return chosen
        return "fresh" if self.scenario.algorithm.centralized else "fixed"

    def facts(self) -> dict[str, Any]:
        """Return what a summary says of a run before it has been played."""
        scenario = self.scenario
        return {
            "name": scenario.name,
            "digest": scenario.digest,
            "algorithm": scenario.algorithm.name,
            "seed": scenario.seed,
            "data": self.dataset.name,
            "agents": self.n,
            "rate": self.rate.value,
            "rate_reason": self.rate.reason,
        }

    def meta(self, mode: str) -> dict[str, str]:
        """Return what the run database says of a run in every mode."""
        return {
            "digest": self.scenario.digest,
            "mode": mode,
            "rate": repr(self.rate.value),
            "rate_reason": self.rate.reason,
            "extensions": origins_to_json(self.scenario),
            "data": self.dataset.name,
            "data_digest": self.dataset.digest,
            "plan": json.dumps(plan_body(delay_plan(self.scenario))),
        }

    @property
    def frame_bytes(self) -> int:
        """Bytes that the arrays of one frame from agent to agent take."""
        arrays = ALGORITHMS[self.scenario.algorithm.name].arrays
        return arrays * self.feasible.size * self.dtype.itemsize

    def weights(self, i: int) -> Mapping[int, float]:
        """Return w_ij for agent i itself and its neighbours."""
        return {j: float(self.W[i, j]) for j in (*self.graph.neighbours(i), i)}

    def agent_spec(self, i: int) -> AgentSpec:
        """Return what makes agent i."""
        scenario = self.scenario
        return AgentSpec(
            algorithm=scenario.algorithm.name,
            agent=i,
            weights=self.weights(i),
            feasible=scenario.problem.set,
            shape=self.feasible.shape,
            radius=scenario.problem.radius,
            steps=tuple(float(eta) for eta in self.steps),
            zeta=self.zeta,
            oracle=scenario.algorithm.oracle,
            noise=self.noise,
            seed=scenario.seed,
            dtype=scenario.precision,
            params=scenario.algorithm.params,
            set_params=scenario.problem.set_params,
        )

    def agents(self) -> list[Agent]:
        """Return new agents 0..n-1."""
        return [make_agent(self.agent_spec(i)) for i in range(self.n)]

    def batch(self, i: int, t: int) -> tuple[Real, Labels]:
        """Return agent i's batch of round t: features (b, m) and labels (b,)."""
        index = self.streams[i].indices(t)
        return self.dataset.rows(index, self.dtype), self.dataset.labels[index]

    def batches(self, t: int) -> tuple[Real, Labels]:
        """Return every agent's batch of round t: features (n, b, m) and labels (n, b)."""
        index = np.stack([stream.indices(t) for stream in self.streams])
        return self.dataset.rows(index, self.dtype), self.dataset.labels[index]


def resolve(scenario: Scenario, dataset: Dataset | None = None) -> Setup:
    """Return the scenario's setup; `dataset` saves loading one that is at hand already."""
    data = dataset or load_data(scenario.data, scenario.seed)
    graph = graph_of(scenario)
    problem = scenario.problem
    loss = make_loss(problem.loss, loss_params(scenario, data))
    shape = (loss.outputs(data.classes), data.features.shape[1])
    setup = Setup(
        scenario=scenario,
        dataset=data,
        streams=_streams(scenario, data),
        graph=graph,
        loss=loss,
        feasible=make_set(problem.set, shape, problem.radius, problem.set_params),
        delays=_delays(scenario),
    )
    if scenario.algorithm.params:
        make_agent(setup.agent_spec(0))  # what its class says of them is said now
    return setup


def loss_params(scenario: Scenario, data: Dataset) -> Mapping[str, Any]:
    """Return the parameters of the loss as the data has them: classes by number, say, not by name."""
    return LOSSES[scenario.problem.loss].fitted(scenario.problem.loss_params, data)


def load_data(data: Data, seed: int) -> Dataset:
    """Return the data set that a scenario with this seed learns from."""
    with _named("data.source"):
        return load(data.source, seed=seed, **data.model_dump(include=_READ))


def first_rounds(setup: Setup, rounds: int) -> Setup:
    """Return the same setup over its first rounds alone; K and the rates stay the horizon's."""
    algorithm = setup.scenario.algorithm.model_copy(update={"stop_after": rounds})
    scenario = setup.scenario.model_copy(update={"algorithm": algorithm})
    return replace(setup, scenario=scenario, delays=setup.delays[:, :rounds])


@contextmanager
def _named(field: str) -> Iterator[None]:
    """Name the scenario's field in what goes wrong inside, unless that names one of its section itself."""
    try:
        yield
    except InputError as error:
        section = field.partition(".")[0]
        if error.field is None:
            raise type(error)(f"{field}: {error}", field) from None
        raise error if error.field.startswith(f"{section}.") else error.within(section) from None


def graph_of(scenario: Scenario) -> Graph:
    """Return who talks to whom."""
    net = scenario.network
    with _named("network.edges" if net.topology == "edges" else "network"):
        return build(
            net.topology, net.agents, seed=scenario.seed, **net.model_dump(exclude={"topology", "agents"})
        )


def _streams(scenario: Scenario, data: Dataset) -> tuple[Stream, ...]:
    with _named("network.agents"):
        shards = partition(
            data.labels,
            scenario.network.agents,
            kind=scenario.data.partition,
            alpha=scenario.data.alpha,
            seed=scenario.seed,
        )
    batch, in_order = scenario.problem.batch, scenario.data.in_order
    return tuple(Stream(shard, batch, scenario.seed, i, in_order=in_order) for i, shard in enumerate(shards))


def _delays(scenario: Scenario) -> NDArray[np.int64]:
    if scenario.pace == "asap" and (counted := timed(scenario)):
        raise InputError(
            f"pace is asap and {counted[0]} counts in time, which needs rounds of a known length: "
            "set pace=250ms, say, or clock=rounds with delays in rounds"
        )
    return delay_plan(scenario).table()
