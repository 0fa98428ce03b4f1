"""Delay faults as a scenario writes them: the same vocabulary as the broker's admin endpoint."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    NonNegativeInt,
    PositiveInt,
    Tag,
)

from edgefw.problem.delay import LONGEST
from edgefw.scenario.units import MOST_ROUNDS, Duration, RoundsOrTime, SomeRoundsOrTime

Distribution = Literal["constant", "uniform", "normal", "exponential", "lognormal", "pareto", "trace"]
Strategy = Literal["burst", "newest_first", "until_end", "starve", "largest"]
ApplyTo = Literal["new", "pending"]
SHARE = 0.25
LONGEST_TRACE = 20_000
"""Values of all traces of a run's delays together: who looks at a plan or changes it handles every one."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


def check_name(name: str, what: str) -> str:
    """Refuse what cannot name a `what`."""
    if not re.fullmatch(NAME, name):
        raise ValueError(
            f"{name!r} cannot name a {what}: use up to 64 letters, digits, '.', '_' and '-', "
            "the first a letter or a digit"
        )
    return name


class Strict(BaseModel):
    """A part of a scenario: frozen; unknown keys, values of another type and infinities are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Draw(Strict):
    """Agents chosen by the scenario's seed: `draw` of them, with or without replacement.

    The published runs drew with replacement, so that `draw: 20` of 30 means about 15 distinct agents.
    """

    draw: NonNegativeInt
    replacement: bool = False


def _kind(agents: object) -> str | None:
    """Return which way of naming agents this is: a mistake is then looked for in that one alone."""
    if isinstance(agents, dict | Draw):
        return "[draw]"
    if isinstance(agents, list):
        return "[list]"
    return "[all]" if agents == "all" else None


Agents = Annotated[
    Annotated[Literal["all"], Tag("[all]")]
    | Annotated[list[NonNegativeInt], Tag("[list]")]
    | Annotated[Draw, Tag("[draw]")],
    Discriminator(
        _kind,
        custom_error_type="agents",
        custom_error_message="write all, a list such as [0, 3], or {draw: 2} for two at random",
    ),
]


class Fault(Strict):
    """What all faults have in common."""

    name: Annotated[str, AfterValidator(lambda name: check_name(name, "fault"))] | None = Field(
        default=None,
        description="to speak of it later; its place (delays-0) if left out",
        json_schema_extra={"pattern": NAME},
    )
    agents: Agents = "all"
    apply_to: ApplyTo | None = Field(
        default=None,
        description="new: feedback that is submitted while it is there; pending: all that is held while it "
        "is there; if left out pending for a blackout, new for all others",
    )
    probability: float = Field(default=1.0, ge=0, le=1, description="chance that a feedback is affected")
    at: RoundsOrTime | None = Field(
        default=None, description="when it begins: a round (200) or a time (90s); from the start if left out"
    )
    duration: SomeRoundsOrTime | None = Field(
        default=None, description="how long it lasts: rounds (50) or a time (10s); to the end if left out"
    )


class Amount(Fault):
    """A delay that may vary from feedback to feedback."""

    distribution: Distribution | None = Field(
        default=None, description="uniform if there is jitter, else constant"
    )
    correlation: float = Field(default=0.0, ge=0, le=1, description="share of the previous round's draw")
    seed: NonNegativeInt | None = Field(
        default=None, le=LONGEST, description="a seed of its own for these draws"
    )


def _or_file(schema: dict[str, Any]) -> None:
    """Let the schema of a list allow the name of a file instead: it is read when a scenario is loaded."""
    schema["anyOf"][0]["maxItems"] = LONGEST_TRACE
    schema["anyOf"].append({"type": "string", "description": "a file of values, one a line"})


def _not_too_long(trace: object) -> object:
    """Refuse a trace that is too long, before each of its values is looked at."""
    if isinstance(trace, list):
        check_values(len(trace))
    return trace


def check_values(count: int) -> None:
    """Refuse so many values of traces."""
    if count > LONGEST_TRACE:
        raise ValueError(f"{count:,} values are too many: all traces together may have {LONGEST_TRACE:,}")


class Latency(Amount):
    """Feedback comes late by a time (wall clock)."""

    type: Literal["latency"]
    latency: Duration = 0.0
    jitter: Duration = 0.0
    trace: Annotated[list[Duration] | None, BeforeValidator(_not_too_long)] = Field(
        default=None, json_schema_extra=_or_file
    )


class Rounds(Amount):
    """Feedback comes in round s + rounds - 1 (rounds clock): 1 is no delay."""

    type: Literal["rounds"]
    rounds: PositiveInt = Field(default=1, le=MOST_ROUNDS)
    jitter: NonNegativeInt = Field(default=0, le=MOST_ROUNDS)
    trace: Annotated[
        list[Annotated[PositiveInt, Field(le=MOST_ROUNDS)]] | None, BeforeValidator(_not_too_long)
    ] = Field(default=None, json_schema_extra=_or_file)


class Blackout(Fault):
    """Everything that is due in the window is released when it ends."""

    type: Literal["blackout"]


class Ramp(Fault):
    """A delay that changes by `step` every `interval`, from `start` to `stop`."""

    type: Literal["ramp"]
    start: RoundsOrTime
    stop: RoundsOrTime
    step: SomeRoundsOrTime
    interval: SomeRoundsOrTime


class Drop(Fault):
    """Feedback never comes."""

    type: Literal["drop"]


class Adversary(Fault):
    """Delays chosen to hurt."""

    type: Literal["adversary"]
    strategy: Strategy
    period: SomeRoundsOrTime | None = Field(
        default=None, description="rounds (20) or a time (5s), of starve in rounds; all but until_end need it"
    )
    share: float = Field(default=SHARE, gt=0, le=1, description="of feedback that strategy largest holds")


AnyFault = Annotated[Latency | Rounds | Blackout | Ramp | Drop | Adversary, Field(discriminator="type")]

TYPES: dict[str, type[Fault]] = {
    "latency": Latency,
    "rounds": Rounds,
    "blackout": Blackout,
    "ramp": Ramp,
    "drop": Drop,
    "adversary": Adversary,
}


def amounts(fault: Any) -> list[tuple[str, float]]:
    """Return the names and values of a fault's amounts that are either rounds or times."""
    names = ("at", "duration", "start", "stop", "step", "interval", "period")
    return [(name, getattr(fault, name)) for name in names if getattr(fault, name, None) is not None]


def trace_of(fault: Any) -> list[Any]:
    """Return the values of a fault's trace, none where it has none."""
    return getattr(fault, "trace", None) or []


def applies_to(fault: Fault) -> ApplyTo:
    """Return which feedback a fault acts on: as it says, or as its type does."""
    return fault.apply_to or ("pending" if isinstance(fault, Blackout) else "new")
