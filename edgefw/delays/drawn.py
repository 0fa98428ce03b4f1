"""The base of faults that add an amount which varies from message to message."""

from __future__ import annotations

from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field

from edgefw.delays.fault import Fault, Seed
from edgefw.delays.schema import Schema, Variant, whole
from edgefw.delays.units import LONGEST
from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgefw.delays.draws import Draws, SomeRounds

LONGEST_TRACE = 20_000
"""Values of all traces of a run's delays together: who looks at a plan or changes it handles every one."""

ALPHA = 1.5
"""The Pareto tail's exponent: the mean is finite, the variance is not."""


def _normal(u: NDArray[np.float64]) -> NDArray[np.float64]:
    # The inverse distribution function, not Box-Muller: monotone in one number, so that correlation carries.
    inverse = NormalDist().inv_cdf
    return np.array([inverse(p) for p in np.maximum(u, 2.0**-54).tolist()], dtype=np.float64)


QUANTILES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "uniform": lambda u: 2 * u - 1,
    "normal": _normal,
    "exponential": lambda u: -np.log1p(-u),
    "lognormal": lambda u: np.exp(_normal(u)),
    "pareto": lambda u: np.expm1(-np.log1p(-u) / ALPHA),
}
"""amount = base + jitter * quantile(u), u uniform on [0, 1)."""

Distribution = Literal["constant", "uniform", "normal", "exponential", "lognormal", "pareto", "trace"]


def trace_of(fault: Fault) -> list[Any]:
    """Return the values of a fault's trace, an empty list where it has no trace."""
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
    """Let the schema of a list allow a file's name too: the file is read when a scenario is loaded."""
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
    """base + jitter * (a number drawn from `distribution`), never below 0.

    - constant: base.
    - uniform: from base - jitter to base + jitter.
    - normal: standard deviation jitter.
    - exponential: base + Exp(mean jitter).
    - lognormal: base + jitter * exp(N(0, 1)).
    - pareto: base + jitter * (Pareto(1.5) - 1).
    - trace: the values of `trace`, one a round, again from the first when they run out; no base, no jitter.

    Without a distribution: trace if there is one, else uniform if there is jitter, else constant.
    """

    steady = True
    base: ClassVar[str]  # the field that says how much
    none: ClassVar[int]  # the amount that is no delay: 0 seconds, 1 round
    value: ClassVar[str]  # what a value of a trace is, in words
    schemas: ClassVar[tuple[Schema, Schema]]  # of the amount and of its jitter

    distribution: Distribution | None = Field(
        default=None, description="uniform if there is jitter, else constant"
    )
    correlation: float = Field(default=0.0, ge=0, le=1, description="share of the previous round's draw")
    seed: Seed = None
    jitter: float
    trace: list[Any] | None

    @property
    def largest(self) -> float:
        """Base + jitter: the largest uniform draw. Other laws have no largest; there it is a usual size."""
        return float(getattr(self, self.base)) + self.jitter

    @cached_property
    def law(self) -> Distribution:
        """The distribution's name, with the default resolved."""
        if self.distribution is not None:
            return self.distribution
        if self.trace:
            return "trace"
        return "uniform" if self.jitter else "constant"

    @cached_property
    def _traced(self) -> NDArray[np.float64]:
        return np.array(self.trace, dtype=np.float64)

    def values(self, draws: Draws, rounds: SomeRounds) -> NDArray[np.float64]:
        """Return the amounts (len(rounds),) of these rounds, at least 0."""
        law, base = self.law, float(getattr(self, self.base))
        if law == "trace":
            return self._traced[(np.asarray(rounds, dtype=np.int64) - 1) % len(self._traced)]
        if not self.jitter:
            return np.full(len(rounds), base)
        u = draws.amounts(rounds, self.correlation)
        return np.maximum(base + self.jitter * QUANTILES[law](u), 0.0)

    def check(self, clock: str) -> None:
        """Refuse fields that do not go together."""
        super().check(clock)
        law = self.law
        if law == "trace" and not self.trace:
            raise InputError(
                "trace is missing: distribution 'trace' needs its values, [...], one a round", "trace"
            )
        if self.trace and law != "trace":
            raise InputError(
                f"distribution is {law!r}, and there is a trace: leave one of them out", "distribution"
            )
        if self.trace and (getattr(self, self.base) > self.none or self.jitter):
            raise InputError(
                f"trace gives the whole amount: leave out {self.base} and jitter, or the trace", "trace"
            )
        if law == "constant" and self.jitter:
            raise InputError(
                f"jitter is {self.jitter}, and distribution 'constant' has none: say 'uniform'", "jitter"
            )

    @classmethod
    def variants(cls, clock: str) -> list[Variant]:  # noqa: ARG003 - it has one alone
        """Return the ways to write it: a constant, something drawn, a trace."""
        amount, jitter = cls.schemas
        trace = {"type": "array", "items": amount, "minItems": 1, "maxItems": LONGEST_TRACE}
        common: dict[str, Schema] = {
            "correlation": {"type": "number", "minimum": 0, "maximum": 1},
            "seed": whole(0, LONGEST) | {"description": "of its own draws"},
        }
        base, laws = {cls.base: amount}, list(QUANTILES)
        return [
            Variant({**base, "distribution": {"const": "constant"}, **common}, (cls.base,)),
            Variant({**base, "jitter": jitter, "distribution": {"enum": laws}, **common}, (cls.base,)),
            Variant({"trace": trace, "distribution": {"const": "trace"}, **common}, ("trace",)),
        ]

    @classmethod
    def read(cls, text: str) -> Any:
        """Return a value of a trace as a scenario writes it, from the text of a file; None if it is none."""
        raise NotImplementedError
