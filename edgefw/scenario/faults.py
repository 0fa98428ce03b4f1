"""Delay faults as a scenario writes them: the same vocabulary as the broker's admin endpoint."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from edgefw.scenario.units import Duration

Distribution = Literal["constant", "uniform", "normal", "exponential", "lognormal", "pareto", "trace"]
Strategy = Literal["burst", "newest_first", "until_end", "starve"]


class Strict(BaseModel):
    """A part of a scenario: frozen, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Draw(Strict):
    """Agents chosen by the scenario's seed: `draw` of them, with or without replacement.

    The published runs drew with replacement, so that `draw: 20` of 30 means about 15 distinct agents.
    """

    draw: NonNegativeInt
    replacement: bool = False


class Fault(Strict):
    """What all faults have in common."""

    agents: Literal["all"] | list[NonNegativeInt] | Draw = "all"
    probability: float = Field(default=1.0, ge=0, le=1, description="chance that a feedback is affected")
    at: NonNegativeInt | Duration | None = Field(
        default=None, description="when it begins: a round (200) or a time (90s); from the start if left out"
    )
    duration: PositiveInt | Duration | None = Field(
        default=None, description="how long it lasts: rounds (50) or a time (10s); to the end if left out"
    )

    @model_validator(mode="after")
    def _known_duration(self) -> Fault:
        if self.duration == 0:
            raise ValueError("duration is 0: leave it out for a fault without end")
        return self


class Amount(Fault):
    """A delay that may vary from feedback to feedback."""

    distribution: Distribution | None = Field(
        default=None, description="uniform if there is jitter, else constant"
    )
    correlation: float = Field(default=0.0, ge=0, le=1, description="share of the previous round's draw")
    seed: NonNegativeInt | None = Field(default=None, description="a seed of its own for these draws")


class Latency(Amount):
    """Feedback comes late by a time (wall clock)."""

    type: Literal["latency"]
    latency: Duration = 0.0
    jitter: Duration = 0.0
    trace: list[Duration] | None = None


class Rounds(Amount):
    """Feedback comes in round s + rounds - 1 (rounds clock): 1 is no delay."""

    type: Literal["rounds"]
    rounds: PositiveInt = 1
    jitter: NonNegativeInt = 0
    trace: list[PositiveInt] | None = None


class Blackout(Fault):
    """Everything that is due in the window is released when it ends."""

    type: Literal["blackout"]


class Ramp(Fault):
    """A delay that changes by `step` every `interval`, from `start` to `stop`."""

    type: Literal["ramp"]
    start: NonNegativeInt | Duration
    stop: NonNegativeInt | Duration
    step: PositiveInt | Duration
    interval: PositiveInt | Duration


class Drop(Fault):
    """Feedback never comes."""

    type: Literal["drop"]


class Adversary(Fault):
    """Delays chosen to hurt."""

    type: Literal["adversary"]
    strategy: Strategy
    period: PositiveInt | None = Field(default=None, description="in rounds; all but until_end need it")


AnyFault = Annotated[Latency | Rounds | Blackout | Ramp | Drop | Adversary, Field(discriminator="type")]


def amounts(fault: Any) -> list[tuple[str, float | None]]:
    """Return the names and values of a fault's amounts that are either rounds or times."""
    names = ("at", "duration", "start", "stop", "step", "interval")
    return [(name, getattr(fault, name)) for name in names if getattr(fault, name, None) is not None]
