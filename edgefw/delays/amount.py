"""How much: a base amount and its jitter, drawn from a distribution, in seconds or in whole rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgefw.delays.units import nearest
from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgefw.delays.draws import SomeRounds, Stream

ALPHA = 1.5
"""The Pareto tail's exponent: the mean is finite, the variance is not."""


def _normal(u: NDArray[np.float64]) -> NDArray[np.float64]:
    # The inverse distribution function, not Box-Muller: monotone in one number, so that correlation carries.
    inverse = NormalDist().inv_cdf
    return np.array([inverse(p) for p in np.maximum(u, 2.0**-54).tolist()], dtype=np.float64)


QUANTILES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "constant": np.zeros_like,
    "uniform": lambda u: 2 * u - 1,
    "normal": _normal,
    "exponential": lambda u: -np.log1p(-u),
    "lognormal": lambda u: np.exp(_normal(u)),
    "pareto": lambda u: np.expm1(-np.log1p(-u) / ALPHA),
}
"""amount = base + jitter * quantile(u), u uniform on [0, 1)."""

Distribution = Literal["constant", "uniform", "normal", "exponential", "lognormal", "pareto", "trace"]
DRAWN = tuple(name for name in QUANTILES if name != "constant")


@dataclass(frozen=True)
class Amount:
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

    base: float
    jitter: float = 0.0
    distribution: Distribution | None = None
    correlation: float = 0.0
    trace: tuple[float, ...] = ()
    name: str = "base"  # what the user calls it
    least: int = 0  # the unit's "no delay": 0 seconds, 1 round

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.law == "trace" and not self.trace:
            raise InputError(
                "trace is missing: distribution 'trace' needs its values, [...], one a round", "trace"
            )
        if self.trace and self.law != "trace":
            raise InputError(
                f"distribution is {self.law!r}, and there is a trace: leave one of them out", "distribution"
            )
        if self.trace and (self.base > self.least or self.jitter):
            raise InputError(
                f"trace gives the whole amount: leave out {self.name} and jitter, or the trace", "trace"
            )
        if self.law == "constant" and self.jitter:
            raise InputError(
                f"jitter is {self.jitter}, and distribution 'constant' has none: say 'uniform'", "jitter"
            )
        if self.least and self.law == "uniform":
            self.whole_range()

    @property
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

    def values(self, stream: Stream, rounds: SomeRounds) -> NDArray[np.float64]:
        """Return the amounts (len(rounds),) of these rounds, at least 0."""
        if self.law == "trace":
            return self._traced[(np.asarray(rounds, dtype=np.int64) - 1) % len(self.trace)]
        if not self.jitter:
            return np.full(len(rounds), float(self.base))
        u = stream.amounts(rounds, self.correlation)
        return np.maximum(self.base + self.jitter * QUANTILES[self.law](u), 0.0)

    def whole(self, stream: Stream, rounds: SomeRounds) -> NDArray[np.int64]:
        """Return the amounts (len(rounds),) as whole numbers, at least 1.

        uniform: every integer of base - jitter .. base + jitter is equally likely. Others: the nearest.
        """
        if self.law != "uniform":
            return nearest(self.values(stream, rounds))
        low, high = self.whole_range()
        u = stream.amounts(rounds, self.correlation)
        return nearest(low + np.floor(u * (high - low + 1)))

    def most(self) -> int | None:
        """Return the largest whole number that can be drawn, None if there is none."""
        if self.law == "uniform":
            return self.whole_range()[1]
        if self.law in {"trace", "constant"} or not self.jitter:
            return int(nearest(np.array([max(self.trace, default=self.base)]))[0])
        return None

    def whole_range(self) -> tuple[int, int]:
        """Return the first and the last integer of [base - jitter, base + jitter].

        >>> Amount(12, 9).whole_range()  # the paper's delays for d = 21: uniform on ceil(0.1 d)..d
        (3, 21)
        """
        low, high = math.ceil(self.base - self.jitter), math.floor(self.base + self.jitter)
        if low > high:
            spread = f"{self.base} +- {self.jitter}"
            raise InputError(
                f"jitter leaves no whole number of rounds in {spread}: widen it, or round {self.name}",
                "jitter",
            )
        return low, high
