"""The scenario: one validated file that describes a run in every mode."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PositiveFloat, PositiveInt, model_validator

from edgefw.core.agent import ALGORITHMS, CENTRALIZED, NEVER_LATE
from edgefw.core.oracle import NAMES as ORACLES
from edgefw.errors import InputError, unknown
from edgefw.problem.feasible import NAMES as SETS
from edgefw.problem.graph import TOPOLOGIES
from edgefw.problem.loss import NAMES as LOSSES
from edgefw.problem.partition import KINDS as PARTITIONS
from edgefw.scenario.faults import AnyFault, Latency, Rounds, Strict, amounts
from edgefw.scenario.units import Duration, parse_duration


def _one_of(kind: str, choices: tuple[str, ...]) -> Any:
    """Return the type of a name among `choices`; a wrong one is answered with the nearest right one."""

    def check(name: str) -> str:
        if name not in choices:
            raise ValueError(str(unknown(kind, name, choices)))
        return name

    return Annotated[str, AfterValidator(check), Field(json_schema_extra={"enum": list(choices)})]


class Network(Strict):
    """Who there is, and who talks to whom."""

    agents: PositiveInt = 8
    topology: _one_of("topology", tuple(TOPOLOGIES)) = "cycle"  # type: ignore[valid-type]
    rows: PositiveInt | None = None
    cols: PositiveInt | None = None
    p: float | None = Field(default=None, ge=0, le=1, description="edge or rewiring probability")
    degree: PositiveInt | None = None
    edges: list[tuple[int, int]] | None = None


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
    drift: float = Field(default=0.0, ge=0, description="of the synthetic stream")


class Problem(Strict):
    """The loss, the feasible set and the batch of a round."""

    loss: _one_of("loss", LOSSES) = "multinomial"  # type: ignore[valid-type]
    set: _one_of("feasible set", SETS) = "l1_per_class"  # type: ignore[valid-type]
    radius: float = Field(default=24.0, gt=0, allow_inf_nan=False)
    batch: PositiveInt = 2


class Algorithm(Strict):
    """What every agent runs."""

    name: _one_of("algorithm", ALGORITHMS) = "de2mfw"  # type: ignore[valid-type]
    horizon: PositiveInt = 1000
    schedule: Literal["experiment", "theorem"] = "experiment"
    oracle: _one_of("oracle", ORACLES) = "ftpl"  # type: ignore[valid-type]
    stop_after: PositiveInt | None = Field(default=None, description="ends early; K stays the horizon's")
    sub_iterations: PositiveInt | None = Field(default=None, description="K; ceil(sqrt(horizon)) if left out")
    rate: PositiveFloat | None = Field(
        default=None, description="zeta (or the gradient step); else the schedule's"
    )
    noise: Literal["auto", "fixed", "fresh"] = Field(
        default="auto", description="FTPL's: fixed per agent in a network, fresh at every query alone"
    )

    @property
    def centralized(self) -> bool:
        """Whether the algorithm is one of a lone learner."""
        return self.name in CENTRALIZED

    @property
    def rounds(self) -> int:
        """How many rounds are played."""
        return min(self.horizon, self.stop_after or self.horizon)


class Peers(Strict):
    """What an agent does when a neighbour is silent."""

    on_loss: Literal["wait", "reroute"] = "wait"
    timeout: Duration = 30.0


def _pace(value: object) -> object:
    return value if value == "asap" else parse_duration(value)


class Scenario(Strict):
    """A run, whole: every mode reads the same file."""

    name: str = Field(default="unnamed", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    seed: int = Field(default=0, ge=0, lt=2**63)
    network: Network = Network()
    data: Data = Data()
    problem: Problem = Problem()
    algorithm: Algorithm = Algorithm()
    clock: Literal["wall", "rounds"] = "wall"
    pace: Annotated[Literal["asap"] | Duration, BeforeValidator(_pace)] = 0.25
    delays: list[AnyFault] = Field(default_factory=list)
    events: list[AnyFault] = Field(default_factory=list)
    peers: Peers = Peers()
    resume: Literal["anew", "continue"] = "anew"
    precision: Literal["float32", "float64"] = Field(default="float32", description="of the simulator")

    @property
    def faults(self) -> list[AnyFault]:
        """Delays and events: an event is a fault that says when it begins."""
        return [*self.delays, *self.events]

    @property
    def digest(self) -> str:
        """128 bits that change with anything that can change a result (the name cannot)."""
        content = self.model_dump(mode="json", exclude={"name", "resume"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        try:
            self._check_algorithm()
            for place, faults in (("delays", self.delays), ("events", self.events)):
                for position, fault in enumerate(faults):
                    self._check_fault(f"{place}.{position}", fault)
        except InputError as error:
            raise ValueError(str(error)) from None
        return self

    def _check_algorithm(self) -> None:
        algorithm = self.algorithm
        if algorithm.centralized and self.network.agents > 1:
            raise InputError(
                f"algorithm.name {algorithm.name} is centralized, network.agents is {self.network.agents}: "
                "set network.agents=1, or algorithm.name=de2mfw"
            )
        if algorithm.name in NEVER_LATE and self.faults:
            raise InputError(f"algorithm.name {algorithm.name} knows no delays: remove delays and events")

    def _check_fault(self, place: str, fault: AnyFault) -> None:
        if place.startswith("events") and fault.at is None:
            raise InputError(
                f"{place}.at is missing: say when the event begins, as a round (200) or a time (90s)"
            )
        if isinstance(fault.agents, list) and any(i >= self.network.agents for i in fault.agents):
            raise InputError(f"{place}.agents {fault.agents}: agents are 0 to {self.network.agents - 1}")
        if self.clock == "rounds" and isinstance(fault, Latency):
            raise InputError(f"{place}: latency needs clock wall; under the rounds clock use type rounds")
        if self.clock == "wall" and isinstance(fault, Rounds):
            raise InputError(f"{place}: rounds needs clock rounds; under the wall clock use type latency")
        if self.clock == "rounds":
            for name, value in amounts(fault):
                if isinstance(value, float):
                    raise InputError(
                        f"{place}.{name}: under the rounds clock write a number of rounds, not a time"
                    )
