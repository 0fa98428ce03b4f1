"""The base of faults that add an amount which varies from message to message."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import BeforeValidator, Field

from edgefw.delays.amount import DRAWN, Amount, Distribution
from edgefw.delays.fault import Fault, Seed
from edgefw.delays.schema import Variant, whole
from edgefw.delays.units import LONGEST

if TYPE_CHECKING:
    from edgefw.delays.schema import Schema

LONGEST_TRACE = 20_000
"""Values of all traces of a run's delays together: who looks at a plan or changes it handles every one."""


def trace_of(fault: Fault) -> list[Any]:
    """Return the values of a fault's trace, none where it has none."""
    return getattr(fault, "trace", None) or []


def check_values(count: int) -> None:
    """Refuse so many values of traces."""
    if count > LONGEST_TRACE:
        raise ValueError(f"{count:,} values are too many: all traces together may have {LONGEST_TRACE:,}")


def _not_too_long(trace: object) -> object:
    """Refuse a trace that is too long, before each of its values is looked at."""
    if isinstance(trace, list):
        check_values(len(trace))
    return trace


def _or_file(schema: dict[str, Any]) -> None:
    """Let the schema of a list allow the name of a file instead: it is read when a scenario is loaded."""
    schema["anyOf"][0]["maxItems"] = LONGEST_TRACE
    schema["anyOf"].append({"type": "string", "description": "a file of values, one a line"})


Value = TypeVar("Value")
Trace = Annotated[
    list[Value] | None,
    BeforeValidator(_not_too_long),
    Field(json_schema_extra=_or_file, description="the delays, one a round, and then again from the first"),
]
"""Values, one a round."""


class Drawn(Fault):
    """A delay that may vary: field `base` says how much, `jitter` how far it varies; or `trace` says all."""

    steady = True
    base: ClassVar[str]
    none: ClassVar[int]  # the amount that is no delay: 0 seconds, 1 round
    value: ClassVar[str]  # what a value of a trace is, in words

    distribution: Distribution | None = Field(
        default=None, description="uniform if there is jitter, else constant"
    )
    correlation: float = Field(default=0.0, ge=0, le=1, description="share of the previous round's draw")
    seed: Seed = None
    jitter: float
    trace: list[Any] | None

    @cached_property
    def amount(self) -> Amount:
        """What is drawn."""
        return Amount(
            getattr(self, self.base),
            self.jitter,
            self.distribution,
            self.correlation,
            tuple(self.trace or ()),
            self.base,
            self.none,
        )

    def check(self, clock: str) -> None:
        """Refuse fields that do not go together."""
        super().check(clock)
        self.amount.check()

    @classmethod
    def variants(cls, clock: str) -> list[Variant]:  # noqa: ARG003 - it has one alone
        """Return the ways to write it: a constant, something drawn, a trace."""
        amount, jitter = cls._schemas()
        trace = {"type": "array", "items": amount, "minItems": 1, "maxItems": LONGEST_TRACE}
        common: dict[str, Schema] = {
            "correlation": {"type": "number", "minimum": 0, "maximum": 1},
            "seed": whole(0, LONGEST) | {"description": "of its own draws"},
        }
        base = {cls.base: amount}
        return [
            Variant({**base, "distribution": {"const": "constant"}, **common}, (cls.base,)),
            Variant({**base, "jitter": jitter, "distribution": {"enum": list(DRAWN)}, **common}, (cls.base,)),
            Variant({"trace": trace, "distribution": {"const": "trace"}, **common}, ("trace",)),
        ]

    @classmethod
    def read(cls, text: str) -> Any:
        """Return a value of a trace as a scenario writes it, from the text of a file; None if it is none."""
        raise NotImplementedError

    @classmethod
    def _schemas(cls) -> tuple[Schema, Schema]:
        """Return the schemas of the amount and of its jitter."""
        raise NotImplementedError
