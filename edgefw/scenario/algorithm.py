"""The section `algorithm` of a scenario."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from edgefw.core.agent import ALGORITHMS
from edgefw.core.oracle import NAMES as ORACLES
from edgefw.delays.strict import Strict
from edgefw.scenario.fields import LARGEST, name_in, one_of

_LONGEST_HORIZON = 10**9  # beyond anything that ends; a mistyped one is said at once


class Algorithm(Strict):
    """What every agent runs."""

    name: name_in(ALGORITHMS) = Field(  # type: ignore[valid-type]
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
    oracle: one_of("oracle", ORACLES) = Field(  # type: ignore[valid-type]
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
        le=LARGEST,
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
