"""What can be done to a message on its way: the base of every fault type.

A fault type is one file with one class: the model of what a user writes, and what that does. A scenario file,
the admin endpoint, `edgefw delay`, the simulator and the broker all use the class itself. It says

- what it `adds` to a delay, when it `holds` back to, and what it `takes` for good, of messages it acts on;
- what it may say under which clock (`check`), and the most that it can add (`most`, `declared`);
- `examples` of it, for readers of its page and for the tests that every type has to pass.

Everything is a pure function of the round and of numbers drawn for it: nothing remembers what it did.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from numpy.typing import NDArray
from pydantic import AfterValidator, ConfigDict, Field, NonNegativeInt

from edgefw.delays.agents import Agents
from edgefw.delays.schema import Variant, counted_schema, not_null
from edgefw.delays.strict import NAME, Strict, check_name
from edgefw.delays.units import (
    LONGEST,
    Counted,
    Length,
    When,
    format_duration,
    in_rounds,
    in_seconds,
    nearest,
)
from edgefw.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from pydantic.fields import FieldInfo

    from edgefw.delays.draws import Draws, SomeRounds
    from edgefw.delays.link_id import LinkId

ApplyTo = Literal["new", "pending"]
Window = tuple[int, int | None]
"""Rounds, [start, stop); stop None = no end."""

Seed = Annotated[NonNegativeInt | None, Field(le=LONGEST, description="a seed of its own for what is drawn")]
"""Of a type that draws: others may come and go, and it draws the same."""

Moments = NDArray[Any]
"""Rounds (int64, NEVER where no end is known) or moments of the clock (float64, infinite there)."""


@dataclass(frozen=True, eq=False)
class Rules:
    """What a plan has to know about the run: `rounds` is T, `round_seconds` the pace by the wall clock."""

    clock: str
    links: tuple[LinkId, ...]
    rounds: int
    seed: int
    round_seconds: float | None

    @cached_property
    def agents(self) -> int:
        """How many links there are: one an agent."""
        return len(self.links)


class Seen(NamedTuple):
    """Messages of one link as a fault on it sees them, (m,) each."""

    rounds: SomeRounds
    elapsed: NDArray[np.float64]  # of one that climbs: since it began, in the clock's unit, at least 0
    ranks: NDArray[np.float64] | None  # of their norms on the link, in [0, 1]; None where nobody knows
    draws: Draws  # the numbers that the fault draws


class Axis(NamedTuple):
    """How moments are counted: in rounds or in seconds, from when, and when the run ends if that is known."""

    in_rounds: bool
    start: float
    end: float
    round_seconds: float | None

    def length(self, name: str, amount: float) -> float:
        """Return an amount, which is rounds (an int) or seconds, as this axis counts it."""
        if not self.in_rounds:
            return in_seconds(name, amount, self.round_seconds)
        return max(1, in_rounds(name, amount, self.round_seconds))


def _as_written(schema: dict[str, Any], model: type[Any]) -> None:
    """Say that a type is always written, and show its examples."""
    schema["properties"]["type"].pop("default", None)
    schema["required"] = ["type", *schema.get("required", ())]
    schema["examples"] = list(model.examples)


class Fault(Strict):
    """What all faults have in common."""

    model_config = ConfigDict(json_schema_extra=_as_written)

    examples: ClassVar[tuple[dict[str, Any], ...]] = ()  # as a scenario writes it, for each of its clocks
    acts_on_by_default: ClassVar[ApplyTo] = "new"
    about_releases: ClassVar[bool] = False  # it is in force for what comes then, whenever that was sent
    adds_time: ClassVar[bool] = False  # by the wall clock, what it adds is a time
    climbs: ClassVar[bool] = False  # what it adds depends on how long ago it began
    steady: ClassVar[bool] = False  # what it adds depends on the round alone, and it does nothing else
    clocks: ClassVar[tuple[str, ...]] = ("wall", "rounds")

    type: str
    name: Annotated[str, AfterValidator(lambda name: check_name(name, "fault"))] | None = Field(
        default=None,
        description="to speak of it later; its place (delays-0) if left out",
        json_schema_extra={"pattern": NAME},
    )
    agents: Agents = Field(default="all", description="on whose links it is")
    apply_to: ApplyTo | None = Field(
        default=None,
        description="new: feedback that is submitted while it is there; pending: all that is held while it "
        "is there; if left out pending for a blackout, new for all others",
    )
    probability: float = Field(default=1.0, ge=0, le=1, description="chance that a feedback is affected")
    at: When = Field(
        default=None,
        description="when it begins: a time (90s) or a round (200 rounds; 200 under the rounds clock); from "
        "the start if left out",
    )
    duration: Length = Field(
        default=None,
        description="how long it lasts: a time (10s) or rounds (50 rounds; 50 under the rounds clock); to "
        "the end if left out",
    )

    @cached_property
    def acts_on(self) -> ApplyTo:
        """Which messages it acts on: as it says, or as its type does."""
        return self.apply_to or self.acts_on_by_default

    @property
    def counts_time(self) -> bool:
        """Whether it says a time (wall clock): then only the pace can turn it into rounds."""
        return self.adds_time or any(
            isinstance(getattr(self, name), float) for name in counted_fields(type(self))
        )

    @property
    def largest(self) -> float | None:
        """The largest delay that it says it adds, in its clock's own unit; None where it says none."""
        return None

    @property
    def waits_for_end(self) -> bool:
        """Whether it holds messages until the run ends."""
        return False

    def adds(self, seen: Seen, clock: str) -> NDArray[Any] | None:  # noqa: ARG002 - a fault that adds nothing
        """Return what it adds to delays, (m,): seconds by the wall clock, else rounds; None for nothing."""
        return None

    def holds(self, due: Moments, axis: Axis) -> Moments | None:  # noqa: ARG002 - a fault that holds nothing
        """Return until when it holds what would come in `due`, (m,); None where it holds nothing."""
        return None

    def takes(self, seen: Seen) -> NDArray[np.bool_] | None:  # noqa: ARG002 - a fault that takes nothing
        """Return which messages it takes for good, (m,); None for none."""
        return None

    def aims(self, seen: Seen) -> NDArray[np.bool_] | None:  # noqa: ARG002 - a fault that takes what comes
        """Return which messages it is after, (m,); None for all."""
        return None

    def most(self, rules: Rules, window: Window | None) -> int | None:  # noqa: ARG002 - whenever it acts
        """Return how many rounds it can add to a delay under the rounds clock; None if there is no bound."""
        return 0 if self.largest is None else int(self.largest) - 1

    def declared(self, rules: Rules, window: Window | None) -> float:  # noqa: ARG002 - whenever it acts
        """Return how many rounds it says it adds to a delay. Without a pace, a second counts as a round.

        Nothing drawn is looked at: this is what may be known before a run.
        """
        if self.largest is None:
            return 0.0
        return self.largest - 1 if rules.clock == "rounds" else self.largest / (rules.round_seconds or 1.0)

    def fits(self, axis: Axis) -> None:
        """Refuse an amount that cannot be counted on an axis: rounds of no fixed length."""

    def check_simulable(self) -> None:
        """Refuse what needs more than the simulator knows."""

    def check(self, clock: str) -> None:
        """Refuse what it cannot say under a clock. Types add what concerns their own fields."""
        if clock not in self.clocks:
            other = "a delay in time" if clock == "rounds" else "a delay in rounds"
            instead = ("rounds", "wall") if clock == "rounds" else ("latency", "rounds")
            raise InputError(
                f"type is {self.type}, {other}, and clock is {clock}: "
                f"use type {instead[0]}, or set clock={instead[1]}",
                "type",
            )
        for name, counted in counted_fields(type(self)).items():
            if (value := getattr(self, name)) is not None:
                _check_unit(name, value, counted, clock)
        if clock == "wall" and self.acts_on == "pending" and not self.about_releases:
            self._check_pending()

    @classmethod
    def variants(cls, clock: str) -> list[Variant]:
        """Return the ways to write what a type has of its own, under a clock."""
        own = cls.own_fields()
        counted, schema = counted_fields(cls), cls.model_json_schema()["properties"]
        properties = {
            name: counted_schema(counted[name], clock) if name in counted else not_null(schema[name])
            for name in own
        }
        return [Variant(properties, [name for name, field in own.items() if field.is_required()])]

    @classmethod
    def own_fields(cls) -> dict[str, FieldInfo]:
        """Return the fields that a type has beside those of every fault."""
        return {name: field for name, field in cls.model_fields.items() if name not in Fault.model_fields}

    def _check_pending(self) -> None:
        """Refuse `at` and `duration` in rounds: by the wall clock, pending feedback is held for a time.

        A fault that is about releases may have them: the pace turns its rounds into times.
        """
        for name in ("at", "duration"):
            value = getattr(self, name)
            if isinstance(value, int):
                raise InputError(
                    f"{name} is {value} rounds, and what applies to pending feedback counts time by the "
                    "wall clock: write a time, such as 10s, or apply_to: new",
                    name,
                )


@cache
def counted_fields(cls: type[Fault]) -> dict[str, Counted]:
    """Return the fields of a type that count rounds or time."""
    return {
        name: mark
        for name, field in cls.model_fields.items()
        for mark in field.metadata
        if isinstance(mark, Counted)
    }


def _check_unit(name: str, value: float, counted: Counted, clock: str) -> None:
    if clock == "rounds" and isinstance(value, float):
        raise InputError(
            f"{name} is the time {format_duration(value)}, and clock is rounds: "
            "write a number of rounds, or set clock=wall",
            name,
        )
    if clock == "wall" and counted.worded and type(value) is int and value:
        raise InputError(
            f"{name} is {value}, which has no unit, and clock is wall: write a time ({value}s) or rounds "
            f"({value} rounds)",
            name,
        )
    if clock == "wall" and not counted.mixed and isinstance(value, int) and value:
        raise InputError(
            f"{name} is {value} rounds, and clock is wall: write a time, such as 2s, or set clock=rounds",
            name,
        )
    if clock == "rounds" and not counted.mixed and value < counted.least:
        raise InputError(f"{name} is {value}: a delay in rounds is at least 1 (1 = no delay)", name)


def level_added(level: NDArray[np.float64], clock: str) -> NDArray[Any]:
    """Return what a delay of this level adds: seconds; or rounds less 1, because 1 round is no delay."""
    return level if clock == "wall" else nearest(level) - 1
