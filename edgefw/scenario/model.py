"""The scenario: one validated file that describes a run in every mode."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, PositiveInt, model_validator

from edgefw.core.agent import ALGORITHMS
from edgefw.delays.agents import check_agents
from edgefw.delays.drawn import check_values, trace_of
from edgefw.delays.registry import AnyFault
from edgefw.delays.strict import NAME, Strict, check_name
from edgefw.delays.units import Duration
from edgefw.errors import InputError
from edgefw.scenario.algorithm import Algorithm
from edgefw.scenario.data import Data
from edgefw.scenario.devices import Devices
from edgefw.scenario.network import Network
from edgefw.scenario.pace import Pace
from edgefw.scenario.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.delays.fault import Fault

_LATER = {  # fields that digests of older scenarios do not know
    "algorithm": ("delay_bound", "params"),
    "problem": ("loss_params", "set_params"),
    "data": ("order", "target", "targets", "scale", "scaling", "features", "classes", "noise", "params"),
    "devices": ("compute", "others"),
}


class Peers(Strict):
    """What an agent does when a neighbour is silent."""

    on_loss: Literal["wait", "reroute"] = Field(
        default="wait",
        description="wait: the run stands still until the neighbour is back. reroute is not available yet: "
        "up and compose refuse it.",
        examples=["wait"],
    )
    timeout: Duration = Field(
        default=30.0,
        description="How long a neighbour may be silent before the log calls it an error. The agent waits "
        "on.",
        examples=["10s"],
    )


class Checkpoints(Strict):
    """What agents keep on disk to come back after a kill as if nothing had been."""

    every: int = Field(
        default=5,
        ge=1,
        le=1000,
        description="How many rounds lie between two checkpoints of an agent; more of them where the network "
        "has more edges from one end to the other than exchanges in so many rounds. Each agent holds the "
        "frames of twice as many rounds in memory, for a neighbour that comes back.",
        examples=[2],
    )


class Limits(Strict):
    """How much feedback the broker may hold; agents wait while it is full."""

    link: PositiveInt = Field(
        default=10_000, description="How much feedback of one agent may be pending.", examples=[500]
    )
    all: PositiveInt = Field(
        default=100_000, description="How much feedback of all agents may be pending.", examples=[5000]
    )
    megabytes: PositiveInt = Field(
        default=2_000,
        description="How much memory held feedback may take. Where the machine or the container has less, "
        "that is the limit.",
        examples=[200],
    )


class Scenario(Strict):
    """A run, whole: every mode reads the same file."""

    name: Annotated[str, AfterValidator(lambda name: check_name(name, "folder"))] = Field(
        default="unnamed",
        description="What the run is called; its folder is named after it.",
        examples=["one-slow-device"],
        json_schema_extra={"pattern": NAME},
    )
    seed: int = Field(
        default=0,
        ge=0,
        lt=2**63,
        description="What everything that is drawn derives from: graph, shares of the data, noise, delays. "
        "The same scenario with the same seed is the same run (by the wall clock, up to when feedback "
        "comes).",
        examples=[7],
    )
    network: Network = Network()
    data: Data = Data()
    problem: Problem = Problem()
    algorithm: Algorithm = Algorithm()
    clock: Literal["wall", "rounds"] = Field(
        default="wall",
        description="How delays are counted. wall: they are times, and feedback comes when its time is over. "
        "rounds: they are numbers of rounds, and a run can be repeated bit for bit.",
        examples=["rounds"],
    )
    pace: Pace = Field(
        default=0.25,
        description="The length of a round. A machine that is too slow for it takes longer. asap: as fast "
        "as it goes; then nothing may be written as a time.",
        examples=["500ms"],
    )
    delays: list[AnyFault] = Field(
        default_factory=list,
        description="Faults that are there from the start, unless they say `at`. Several on a link add up.",
        examples=[[{"type": "latency", "agents": [3], "latency": "800ms"}]],
    )
    events: list[AnyFault] = Field(
        default_factory=list,
        description="Faults that begin later: each says when with `at`, a round or a time.",
        examples=[[{"type": "blackout", "agents": "all", "at": "60s", "duration": "10s"}]],
    )
    devices: Devices = Devices()
    peers: Peers = Peers()
    checkpoints: Checkpoints = Checkpoints()
    limits: Limits = Limits()
    resume: Literal["anew", "continue"] = Field(
        default="anew",
        description="What `docker compose up` does after `docker compose stop` in the middle of a run. "
        "anew: it begins another run. continue: it goes on with that one. A service that was killed goes on "
        "in any case.",
        examples=["continue"],
    )
    precision: Literal["float32", "float64"] = Field(
        default="float32",
        description="The type of numbers that the simulator computes in. Services compute in float32.",
        examples=["float64"],
    )

    @property
    def faults(self) -> list[AnyFault]:
        """Delays and events: an event is a fault that says when it begins."""
        return [*self.delays, *self.events]

    @property
    def digest(self) -> str:
        """128 bits that change with anything that can change a result (names cannot)."""
        named: Any = {"__all__": {"name"}}
        left_out: Any = {"name": True, "resume": True, "checkpoints": True, "delays": named, "events": named}
        for section, later in _LATER.items():  # as in scenarios that were written before they were there
            model = getattr(self, section)
            usual = type(model)()
            same = {name for name in later if getattr(model, name) == getattr(usual, name)}
            left_out[section] = same if same < type(model).model_fields.keys() else True
        content = self.model_dump(mode="json", exclude=left_out)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        try:
            self._check_algorithm()
            self.devices.check(self.network.agents)
            _check_names(self.delays, self.events)
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
                f"{place}.at is missing: say when the event begins, as a time (90s) or a round (200 rounds)"
            )
        try:
            check_agents(fault.agents, self.network.agents)
            fault.check(self.clock)
        except InputError as error:
            raise error.within(place) from None


def _check_names(delays: Sequence[Fault], events: Sequence[Fault]) -> None:
    """Refuse two faults of one name; one without is called by its place."""
    seen: dict[str, str] = {}
    for where, faults in (("delays", delays), ("events", events)):
        for position, fault in enumerate(faults):
            here, name = f"{where}.{position}", fault.name or f"{where}-{position}"
            if name in seen:
                raise InputError(f"{here} and {seen[name]} are both named {name!r}: give one another name")
            seen[name] = here
