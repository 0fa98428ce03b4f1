"""Feedback delayed on purpose: by someone who chooses the order, not by chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgefw.errors import InputError, unknown
from edgefw.problem.delay.faults import Fault
from edgefw.problem.delay.units import NEVER, SLACK, check_number, check_whole

if TYPE_CHECKING:
    from edgefw.problem.delay.draws import SomeRounds, Stream

Moments = NDArray[Any]
"""Rounds (int64, NEVER where no end is known) or moments of the clock (float64, infinite there)."""

Rule = Callable[[Moments, float, float, float], Moments]

SHARE = 0.25


def _burst(due: Moments, period: float, start: float, end: float) -> Moments:
    del end
    return _period_end(due, period, start)


def _newest_first(due: Moments, period: float, start: float, end: float) -> Moments:
    # A mirror at the period's end, not a sorted queue: each release is known when the feedback is submitted.
    del end
    return 2 * _period_end(due, period, start) - due


def _until_end(due: Moments, period: float, start: float, end: float) -> Moments:
    del period, start
    return np.maximum(due, end)


def _untouched(due: Moments, period: float, start: float, end: float) -> Moments:
    del period, start, end
    return due


def _period_end(due: Moments, period: float, start: float) -> Moments:
    if due.dtype.kind == "i":
        return -(-(due - int(start)) // int(period)) * int(period) + int(start)
    # Never early: not even where the end is rounded down.
    return np.maximum(np.ceil((due - start) / period - SLACK) * period + start, due)


STRATEGIES: dict[str, Rule] = {
    "burst": _burst,
    "newest_first": _newest_first,
    "until_end": _until_end,
    "starve": _untouched,
    "largest": _burst,
}


@dataclass(frozen=True)
class Adversary(Fault):
    """Holds feedback that would otherwise be due; periods begin with the run and follow one another.

    - burst: held to the end of the period it is due in, where all is released together.
    - newest_first: what is due in a period is released from its end on in reverse order, as long after the
      end as it was due before it (one a round where one a round was due).
    - until_end: everything comes in round T; by the wall clock when the feedback of round T is submitted.
    - starve: the first feedback of each period comes, the others never do.
    - largest: burst, for feedback whose norm has a rank of 1 - `share` or more on its link.

    `unit` is that of the period, "rounds" or "seconds"; that of starve counts feedback in any case.
    """

    type: ClassVar[str] = "adversary"

    strategy: str
    period: float | None = None
    unit: str = "rounds"
    share: float = SHARE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strategy not in STRATEGIES:
            raise unknown("strategy", self.strategy, STRATEGIES)
        if self.unit not in {"rounds", "seconds"}:
            raise unknown("unit", self.unit, ["rounds", "seconds"])
        self._check_period()
        self._check_share()

    def _check_period(self) -> None:
        if self.strategy == "until_end":
            if self.period is not None:
                raise InputError(
                    f"strategy 'until_end' has no period, but `period` is {self.period}: leave it out"
                )
        elif self.period is None:
            example = "period: 10, in rounds" if self.unit == "rounds" else "period: 5s"
            raise InputError(f"strategy {self.strategy!r} needs its period: {example}")
        elif self.unit == "rounds" or self.strategy == "starve":
            check_whole("period", self.period, least=1)
        else:
            check_number("period", self.period)
            if self.period <= 0:
                raise InputError(f"`period` is {self.period}: it must be above 0")

    def _check_share(self) -> None:
        check_number("share", self.share)
        if not 0 < self.share <= 1:
            raise InputError(f"`share` is {self.share}: it must be above 0 and at most 1")
        if self.strategy != "largest" and self.share != SHARE:
            raise InputError(
                f"`share` is {self.share} and strategy {self.strategy!r} has none: leave it out, "
                "or say strategy: largest"
            )

    def takes(self, rounds: SomeRounds) -> NDArray[np.bool_]:
        """Return which rounds' feedback (len(rounds),) never comes, among what it acts on."""
        if self.strategy != "starve" or self.period is None:
            return np.zeros(len(rounds), dtype=np.bool_)
        later: NDArray[np.bool_] = (np.asarray(rounds, dtype=np.int64) - 1) % int(self.period) != 0
        return later

    def aims(
        self, stream: Stream, rounds: SomeRounds, ranks: NDArray[np.float64] | None
    ) -> NDArray[np.bool_]:
        """Return which feedback (len(rounds),) it is after, by the rank of its norm on its link.

        Without `ranks` they are drawn: where nobody knows the norms, each rank is as likely as another.
        """
        if self.strategy != "largest":
            return np.ones(len(rounds), dtype=np.bool_)
        known = stream.ranks(rounds) if ranks is None else ranks
        return known >= 1 - self.share

    def release(self, due: Moments, *, start: float, end: float) -> Moments:
        """Return when feedback (m,) that it acts on comes, which would be due in `due`.

        Periods count from `start`, `end` is that of the run: 0 and T in rounds. By the clock `end` is
        infinite as long as nobody knows when it will be.
        """
        comes = due < (NEVER if due.dtype.kind == "i" else math.inf)  # the rest is nobody's to hold
        held = STRATEGIES[self.strategy](np.where(comes, due, 1), self.period or 1, start, end)
        return np.where(comes, held, due)
