"""The scenario: one validated file that describes a run in every mode."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from edgefw.core.agent import ALGORITHMS
from edgefw.core.oracle import NAMES as ORACLES
from edgefw.delays.agents import check_agents
from edgefw.delays.drawn import check_values, trace_of
from edgefw.delays.registry import AnyFault
from edgefw.delays.strict import NAME, Strict, check_name
from edgefw.delays.units import Duration
from edgefw.errors import InputError, unknown
from edgefw.problem.feasible import NAMES as SETS
from edgefw.problem.graph import TOPOLOGIES
from edgefw.problem.loss import NAMES as LOSSES
from edgefw.problem.partition import KINDS as PARTITIONS
from edgefw.scenario.checks import check_names
from edgefw.scenario.pace import Pace

if TYPE_CHECKING:
    from edgefw.delays.fault import Fault

_MOST_AGENTS, _LONGEST_HORIZON = 10_000, 10**9  # beyond anything that ends; a mistyped one is said at once
_LARGEST = 1e9  # of a radius or a rate: float32 still holds sums of their products


def _one_of(kind: str, choices: tuple[str, ...]) -> Any:
    """Return the type of a name among `choices`; a wrong one is answered with the nearest right one."""

    def check(name: str) -> str:
        if name not in choices:
            raise ValueError(str(unknown(kind, name, choices)))
        return name

    return Annotated[str, AfterValidator(check), Field(json_schema_extra={"enum": list(choices)})]


Edge = Annotated[tuple[NonNegativeInt, NonNegativeInt], Field(strict=False)]  # a file has lists, no tuples


class Network(Strict):
    """Who there is, and who talks to whom."""

    agents: PositiveInt = Field(default=8, le=_MOST_AGENTS)
    topology: _one_of("topology", tuple(TOPOLOGIES)) = "cycle"  # type: ignore[valid-type]
    rows: PositiveInt | None = None
    cols: PositiveInt | None = None
    p: float | None = Field(default=None, ge=0, le=1, description="edge or rewiring probability")
    degree: PositiveInt | None = None
    edges: list[Edge] | None = Field(default=None, description="of topology edges: [[0, 1], [1, 2]]")


class Data(Strict):
    """What agents learn from, and how it is shared out."""

    source: str = Field(
        default="auto", description="auto, fashion-mnist, mnist, synthetic or a folder of idx files"
    )
    partition: _one_of("partition", tuple(PARTITIONS)) = "iid"  # type: ignore[valid-type]
    alpha: PositiveFloat = Field(
        default=0.5, description="of the Dirichlet partition: smaller is more uneven"
    )
    samples: PositiveInt | None = Field(default=None, description="of the synthetic stream")
    drift: float = Field(default=0.0, ge=0, le=1, description="of the synthetic stream")


class Problem(Strict):
    """The loss, the feasible set and the batch of a round."""

    loss: _one_of("loss", LOSSES) = "multinomial"  # type: ignore[valid-type]
    set: _one_of("feasible set", SETS) = "l1_per_class"  # type: ignore[valid-type]
    radius: float = Field(default=24.0, gt=0, le=_LARGEST)
    batch: PositiveInt = 2


class Algorithm(Strict):
    """What every agent runs."""

    name: _one_of("algorithm", tuple(ALGORITHMS)) = "de2mfw"  # type: ignore[valid-type]
    horizon: PositiveInt = Field(default=1000, le=_LONGEST_HORIZON)
    schedule: Literal["experiment", "theorem"] = "experiment"
    oracle: _one_of("oracle", ORACLES) = "ftpl"  # type: ignore[valid-type]
    stop_after: PositiveInt | None = Field(default=None, description="ends early; K stays the horizon's")
    sub_iterations: PositiveInt | None = Field(default=None, description="K; ceil(sqrt(horizon)) if left out")
    rate: PositiveFloat | None = Field(
        default=None, le=_LARGEST, description="zeta (or the gradient step); else the schedule's"
    )
    delay_bound: PositiveInt | None = Field(
        default=None,
        description="in rounds: the d that a derived rate reckons with; what the delays declare if left out",
    )
    noise: Literal["auto", "fixed", "fresh"] = Field(
        default="auto", description="FTPL's: fixed per agent in a network, fresh at every query alone"
    )

    @property
    def centralized(self) -> bool:
        """Whether the algorithm is one of a lone learner."""
        return not ALGORITHMS[self.name].distributed

    @property
    def rounds(self) -> int:
        """How many rounds are played."""
        return min(self.horizon, self.stop_after or self.horizon)


class Peers(Strict):
    """What an agent does when a neighbour is silent."""

    on_loss: Literal["wait", "reroute"] = Field(
        default="wait", description="reroute is not available yet: up and compose refuse it"
    )
    timeout: Duration = 30.0


class Limits(Strict):
    """How much feedback the broker may hold; agents wait while it is full."""

    link: PositiveInt = Field(default=10_000, description="pending feedback of one agent")
    all: PositiveInt = Field(default=100_000, description="pending feedback of all agents")
    megabytes: PositiveInt = Field(
        default=2_000, description="of feedback in memory; less where memory is short"
    )


class Scenario(Strict):
    """A run, whole: every mode reads the same file."""

    name: Annotated[str, AfterValidator(lambda name: check_name(name, "folder"))] = Field(
        default="unnamed", json_schema_extra={"pattern": NAME}
    )
    seed: int = Field(default=0, ge=0, lt=2**63)
    network: Network = Network()
    data: Data = Data()
    problem: Problem = Problem()
    algorithm: Algorithm = Algorithm()
    clock: Literal["wall", "rounds"] = "wall"
    pace: Pace = 0.25
    delays: list[AnyFault] = Field(default_factory=list)
    events: list[AnyFault] = Field(default_factory=list)
    peers: Peers = Peers()
    limits: Limits = Limits()
    resume: Literal["anew", "continue"] = Field(
        default="anew", description="continue is not available yet: up and compose refuse it"
    )
    precision: Literal["float32", "float64"] = Field(default="float32", description="of the simulator")

    @property
    def faults(self) -> list[AnyFault]:
        """Delays and events: an event is a fault that says when it begins."""
        return [*self.delays, *self.events]

    @property
    def digest(self) -> str:
        """128 bits that change with anything that can change a result (names cannot)."""
        named: Any = {"__all__": {"name"}}
        left_out: Any = {"name": True, "resume": True, "delays": named, "events": named}
        if self.algorithm.delay_bound is None:
            left_out["algorithm"] = {"delay_bound"}  # as in scenarios that were written before it was there
        content = self.model_dump(mode="json", exclude=left_out)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        try:
            self._check_algorithm()
            check_names(self.delays, self.events)
            check_values(sum(len(trace_of(fault)) for fault in self.faults))
            for place, faults in (("delays", self.delays), ("events", self.events)):
                for position, fault in enumerate(faults):
                    self._check_fault(f"{place}.{position}", fault)
        except InputError as error:
            raise ValueError(str(error)) from None
        return self

    def _check_algorithm(self) -> None:
        name, agents = self.algorithm.name, self.network.agents
        if self.algorithm.centralized and agents > 1:
            raise InputError(
                f"algorithm.name is {name}, which is centralized, and network.agents is {agents}: "
                "set network.agents=1, or algorithm.name=de2mfw"
            )
        under_delay = ALGORITHMS[name].under_delay
        if under_delay is not None and self.faults:
            raise InputError(
                f"algorithm.name is {name}, which knows no delays, and there are {len(self.faults)}: "
                f"set algorithm.name={under_delay}, or delays=[] and events=[]"
            )

    def _check_fault(self, place: str, fault: Fault) -> None:
        if place.startswith("events") and fault.at is None:
            raise InputError(
                f"{place}.at is missing: say when the event begins, as a round (200) or a time (90s)"
            )
        try:
            check_agents(fault.agents, self.network.agents)
            fault.check(self.clock)
        except InputError as error:
            raise error.within(place) from None
