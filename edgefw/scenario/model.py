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
from edgefw.plugins import PLACE, Registry
from edgefw.problem.feasible import SETS
from edgefw.problem.graph import TOPOLOGIES
from edgefw.problem.loss import LOSSES
from edgefw.problem.partition import KINDS as PARTITIONS
from edgefw.problem.scaling import WAYS as SCALINGS
from edgefw.scenario.devices import Devices
from edgefw.scenario.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.delays.fault import Fault

_MOST_AGENTS, _LONGEST_HORIZON = 10_000, 10**9  # beyond anything that ends; a mistyped one is said at once
_LATER = {  # fields that digests of older scenarios do not know
    "algorithm": ("delay_bound", "params"),
    "problem": ("loss_params", "set_params"),
    "data": ("order", "target", "targets", "scale", "scaling", "features", "classes", "noise", "params"),
    "devices": ("compute", "others"),
}
_LARGEST = 1e9  # of a radius or a rate: float32 still holds sums of their products


def _one_of(kind: str, choices: tuple[str, ...]) -> Any:
    """Return the type of a name among `choices`; a wrong one is answered with the nearest right one."""

    def check(name: str) -> str:
        if name not in choices:
            raise ValueError(str(unknown(kind, name, choices)))
        return name

    return Annotated[str, AfterValidator(check), Field(json_schema_extra={"enum": list(choices)})]


def _of(registry: Registry[Any]) -> Any:
    """Return the type of a name of a registry, or of a class that another package brings."""

    def check(name: str) -> str:
        try:
            registry[name]
        except InputError as error:
            raise ValueError(str(error)) from None
        return name

    def schema(found: dict[str, Any]) -> None:
        place = {"type": "string", "pattern": f"^{PLACE.pattern}$"}
        found |= {"anyOf": [{"type": "string", "enum": registry.names()}, place]}
        del found["type"]

    return Annotated[str, AfterValidator(check), Field(json_schema_extra=schema)]


Edge = Annotated[tuple[NonNegativeInt, NonNegativeInt], Field(strict=False)]  # a file has lists, no tuples


class Network(Strict):
    """Who there is, and who talks to whom."""

    agents: PositiveInt = Field(
        default=8,
        le=_MOST_AGENTS,
        description="How many agents there are. They are numbered from 0.",
        examples=[30],
    )
    topology: _one_of("topology", tuple(TOPOLOGIES)) = Field(  # type: ignore[valid-type]
        default="cycle",
        description="The shape of the graph. It has to be connected. Agents exchange messages with their "
        "neighbours only.",
        examples=["erdos_renyi"],
    )
    rows: PositiveInt | None = Field(
        default=None,
        description="How many rows a grid has. Left out, the grid is as square as the number of agents "
        "allows; a prime number of them, which allows a line only, is refused.",
        examples=[2],
    )
    cols: PositiveInt | None = Field(
        default=None,
        description="How many columns a grid has. rows times cols must be the number of agents.",
        examples=[4],
    )
    p: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="A probability. In erdos_renyi it is that of an edge (0.3 if left out), in small_world "
        "that of an edge being rewired (0.1 if left out).",
        examples=[0.3],
    )
    degree: PositiveInt | None = Field(
        default=None,
        description="How many neighbours an agent has in random_regular, and has before edges are rewired in "
        "small_world. It is 4 if left out.",
        examples=[4],
    )
    edges: list[Edge] | None = Field(
        default=None,
        description="The pairs of neighbours. Topology edges needs them.",
        examples=[[[0, 1], [1, 2]]],
    )


class Data(Strict):
    """What agents learn from, and how it is shared out."""

    source: str = Field(
        default="auto",
        description="Where samples come from: auto, fashion-mnist, mnist, synthetic, a folder of idx files, "
        "or a file of your own (.npz, .npy, .csv, .parquet). auto is fashion-mnist where it is found, and "
        "synthetic elsewhere. A folder has train-images-idx3-ubyte and train-labels-idx1-ubyte, gzipped or "
        "not. A data set of your own is named as an algorithm is.",
        examples=["synthetic"],
    )
    partition: _one_of("partition", tuple(PARTITIONS)) = Field(  # type: ignore[valid-type]
        default="iid",
        description="How samples are shared out. iid: every agent has the same mix of classes. dirichlet: "
        "each draws a mix of its own. by_class: samples are sorted by class (or real target) and cut into "
        "equal pieces. in_turn: agent i of n has samples i, i + n, and so on.",
        examples=["dirichlet"],
    )
    alpha: PositiveFloat = Field(
        default=0.5,
        description="How even the dirichlet partition is. A small alpha gives an agent few classes, a large "
        "one comes close to iid.",
        examples=[0.2],
    )
    samples: PositiveInt | None = Field(
        default=None,
        description="How many samples there are. Of a data set that many are drawn; of the synthetic stream "
        "that many are made. Left out, it is all of a data set, and 60,000 of the synthetic stream.",
        examples=[5000],
    )
    drift: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="How far the classes of the synthetic stream have moved at its last sample, as a share "
        "of the way to other classes. Samples that drift are read in order.",
        examples=[0.5],
    )
    order: Literal["auto", "shuffled", "given"] = Field(
        default="auto",
        description="In which order an agent reads its samples, over and over. shuffled: in another one each "
        "time. given: as they stand in the data, as a time series is. auto: given for data that drift, else "
        "shuffled.",
        examples=["given"],
    )
    target: str | None = Field(
        default=None,
        description="Which column of a file is the target: its name, or its number from 0, in quotes. Left "
        "out, it is the last one. Of an .npz, the name of an array; left out, labels or y.",
        examples=["price"],
    )
    targets: Literal["auto", "classes", "real"] = Field(
        default="auto",
        description="What the targets of a file are. auto: classes where they are texts, or whole numbers of "
        "at most 1,000 different values; else real numbers. With source synthetic, real makes a linear "
        "function of the features with noise.",
        examples=["real"],
    )
    scale: PositiveFloat | None = Field(
        default=None,
        le=_LARGEST,
        description="What features are multiplied by. Left out, it is 1/255 for images and 1 for all others.",
        examples=[0.01],
    )
    scaling: _one_of("scaling", ("none", *SCALINGS)) = Field(  # type: ignore[valid-type]
        default="none",
        description="How features are scaled, over all samples. standardize: every feature gets mean 0 and "
        "standard deviation 1. unit_interval: every feature gets to [0, 1]. unit_norm: the longest sample "
        "gets norm 1.",
        examples=["standardize"],
    )
    features: PositiveInt | None = Field(
        default=None,
        description="How many features the synthetic stream has. Left out, it is 784.",
        examples=[20],
    )
    classes: Annotated[int, Field(ge=2)] | None = Field(
        default=None,
        description="How many classes the synthetic stream has. Left out, it is 10.",
        examples=[3],
    )
    noise: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None,
        description="How much a sample of the synthetic stream may look like another class, or how far a "
        "real target may be off. Left out, it is 0.6.",
        examples=[0.3],
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        description="Parameters of a data set of your own: they go to its class by name.",
        examples=[{"sensors": 3}],
    )

    @property
    def in_order(self) -> bool:
        """Whether agents read their samples in the order of the data."""
        return self.order == "given" or (self.order == "auto" and self.drift > 0)


class Problem(Strict):
    """The loss, the feasible set and the batch of a round."""

    loss: _of(LOSSES) = Field(  # type: ignore[valid-type]
        default="multinomial",
        description="The loss of a linear model on a batch, a mean over its samples. multinomial is the "
        "cross-entropy of all classes. squared takes the class, or a real target, as a number. "
        "binary_logistic sets some classes against all others: loss_params={positive: [...]} says which; "
        "left out, odd ones against even ones. A loss of your own is named as an algorithm is.",
        examples=["binary_logistic"],
    )
    set: _of(SETS) = Field(  # type: ignore[valid-type]
        default="l1_per_class",
        description="The convex set that every play lies in. One of your own is named as an algorithm is.",
        examples=["nuclear_ball"],
    )
    radius: float = Field(
        default=24.0,
        gt=0,
        le=_LARGEST,
        description="How large the set is: the bound on its norm, or what the entries of a simplex add up "
        "to.",
        examples=[8.0],
    )
    batch: PositiveInt = Field(
        default=2, description="How many samples an agent sees in a round.", examples=[60]
    )
    loss_params: dict[str, Any] = Field(
        default_factory=dict,
        description="Parameters of the loss. positive of binary_logistic are the classes that are set "
        "against all others, by name or number. Those of a loss of your own go to its class by name.",
        examples=[{"positive": [0]}],
    )
    set_params: dict[str, Any] = Field(
        default_factory=dict,
        description="Parameters of a feasible set of your own: they go to its class by name.",
        examples=[{"p": 3}],
    )


class Algorithm(Strict):
    """What every agent runs."""

    name: _of(ALGORITHMS) = Field(  # type: ignore[valid-type]
        default="de2mfw",
        description="The algorithm. de2mfw and distributed-dgd are for a network. All others are for a lone "
        "learner and need network.agents=1. mfw and ofw are for runs in which nothing is late. An algorithm "
        "of your own is named by its class, package.module:Class, or by its entry point "
        "([extending](extending.md)).",
        examples=["distributed-dgd"],
    )
    horizon: PositiveInt = Field(
        default=1000,
        le=_LONGEST_HORIZON,
        description="T, the number of rounds. Steps, rates and the number of sub-iterations derive from it.",
        examples=[400],
    )
    schedule: Literal["experiment", "theorem"] = Field(
        default="experiment",
        description="Which step sizes and rate are used: those of the published runs, or those of the "
        "theorems.",
        examples=["theorem"],
    )
    oracle: _one_of("oracle", ORACLES) = Field(  # type: ignore[valid-type]
        default="ftpl",
        description="The online linear oracle. ftpl (follow the perturbed leader) needs no projections, ogd "
        "(online gradient descent) does.",
        examples=["ogd"],
    )
    stop_after: PositiveInt | None = Field(
        default=None,
        description="Ends the run after so many rounds. Steps, rate and K stay those of the horizon.",
        examples=[50],
    )
    sub_iterations: PositiveInt | None = Field(
        default=None,
        description="K, the number of Frank-Wolfe steps and of exchanges with neighbours in a round. Left "
        "out, it is the root of the horizon, rounded up.",
        examples=[16],
    )
    rate: PositiveFloat | None = Field(
        default=None,
        le=_LARGEST,
        description="zeta, the rate of the oracle, or the step of gradient descent. Left out, it is derived "
        "from what the scenario declares, and recorded with its reason.",
        examples=[0.03],
    )
    delay_bound: PositiveInt | None = Field(
        default=None,
        description="The delay d, in rounds, that a derived rate reckons with. Left out, it is what the "
        "delays declare.",
        examples=[101],
    )
    noise: Literal["auto", "fixed", "fresh"] = Field(
        default="auto",
        description="The noise of ftpl. fixed: drawn once for each agent. fresh: drawn at every query. auto: "
        "fixed in a network, fresh for a lone learner.",
        examples=["fixed"],
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        description="Parameters of an algorithm of your own: they go to its class by name.",
        examples=[{"beta": 0.9}],
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
    limits: Limits = Limits()
    resume: Literal["anew", "continue"] = Field(
        default="anew",
        description="What becomes of a run in containers whose agent or observer has died. anew: it starts "
        "again, for all. continue is not available yet: up and compose refuse it.",
        examples=["anew"],
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
        left_out: Any = {"name": True, "resume": True, "delays": named, "events": named}
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
