"""`adversary`: feedback delayed on purpose, by someone who chooses the order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from edgefw.delays.fault import Fault, counted_fields
from edgefw.delays.schema import Variant, counted_schema, whole
from edgefw.delays.units import NEVER, SLACK, Period, format_duration
from edgefw.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.delays.fault import Axis, Moments, Rules, Seen, Window

SHARE = 0.25

Strategy = Literal["burst", "newest_first", "until_end", "starve", "largest"]


class Adversary(Fault):
    """Delays chosen to hurt: holds feedback that would otherwise be due. Periods begin with the run.

    - burst: held to the end of the period it is due in, where all is released together.
    - newest_first: what is due in a period is released from its end on in reverse order, as long after the
      end as it was due before it (one a round where one a round was due).
    - until_end: everything comes in round T; by the wall clock when the feedback of round T is submitted.
    - starve: the first feedback of each period comes, the others never do.
    - largest: burst, for feedback whose norm has a rank of 1 - `share` or more on its link.
    """

    examples = (
        {"type": "adversary", "strategy": "burst", "period": "5s"},
        {"type": "adversary", "strategy": "newest_first", "period": 20},
        {"type": "adversary", "strategy": "until_end", "agents": [0]},
    )

    type: Literal["adversary"] = "adversary"
    strategy: Strategy = Field(description="how it hurts, see above")
    period: Period = Field(
        default=None, description="rounds (20) or a time (5s), of starve in rounds; all but until_end need it"
    )
    share: float = Field(default=SHARE, gt=0, le=1, description="of feedback that strategy largest holds")

    @property
    def waits_for_end(self) -> bool:
        """Whether its strategy is to."""
        return self.strategy == "until_end"

    def check(self, clock: str) -> None:
        """Refuse a period or a share that the strategy does not use, and a strategy without one it needs."""
        if self.strategy == "starve" and isinstance(self.period, float):
            raise InputError(
                f"period is the time {format_duration(self.period)}, and strategy starve counts "
                "feedback: write a number, such as 10 to let one in ten through",
                "period",
            )
        super().check(clock)
        if self.strategy == "until_end" and self.period is not None:
            raise InputError("period is given, and strategy 'until_end' has none: leave it out", "period")
        if self.strategy != "until_end" and self.period is None:
            example = (
                "period: 5s" if clock == "wall" and self.strategy != "starve" else "period: 10, in rounds"
            )
            raise InputError(f"period is missing: strategy {self.strategy!r} needs it ({example})", "period")
        if self.strategy != "largest" and self.share != SHARE:
            raise InputError(
                f"share is {self.share}, and strategy {self.strategy!r} has none: leave it out, "
                "or say strategy: largest",
                "share",
            )

    def check_simulable(self) -> None:
        """Refuse what looks at the norms of feedback."""
        if self.strategy == "largest":
            raise InputError(
                "strategy is largest, which looks at the norms of feedback: "
                "only the emulator has them, run it with `edgefw up`",
                "strategy",
            )

    def fits(self, axis: Axis) -> None:
        """Refuse a period in rounds of no fixed length. That of `starve` counts feedback: it always fits."""
        if self.period is not None and self.strategy != "starve":
            axis.length("period", self.period)

    def takes(self, seen: Seen) -> NDArray[np.bool_] | None:
        """Return what starve takes: all but the first of each period."""
        if self.strategy != "starve" or self.period is None:
            return None
        later: NDArray[np.bool_] = (np.asarray(seen.rounds, dtype=np.int64) - 1) % int(self.period) != 0
        return later

    def aims(self, seen: Seen) -> NDArray[np.bool_] | None:
        """Return which feedback `largest` is after, by the rank of its norm on its link.

        Without ranks they are drawn: where nobody knows the norms, each rank is as likely as another.
        """
        if self.strategy != "largest":
            return None
        ranks = seen.draws.ranks(seen.rounds) if seen.ranks is None else seen.ranks
        return ranks >= 1 - self.share

    def holds(self, due: Moments, axis: Axis) -> Moments:
        """Return when feedback comes that would otherwise come at `due`. What never comes is left alone."""
        comes = due < (NEVER if due.dtype.kind == "i" else math.inf)
        return np.where(comes, self._release(np.where(comes, due, 1), axis), due)

    def _release(self, due: Moments, axis: Axis) -> Moments:
        if self.strategy == "starve":
            return due
        if self.period is None:
            return np.maximum(due, axis.end)
        end = _period_end(due, axis.length("period", self.period), axis.start)
        # A mirror at the period's end, not a sorted queue: each release is known as feedback is submitted.
        return 2 * end - due if self.strategy == "newest_first" else end

    def most(self, rules: Rules, window: Window | None) -> int:  # noqa: ARG002 - whenever it acts
        """Return how long its strategy holds back: until the end of the run where it has no period."""
        if self.period is None:
            return rules.rounds
        periods = {"newest_first": 2, "starve": 0}.get(self.strategy, 1)
        return periods * (int(self.period) - 1)

    @classmethod
    def variants(cls, clock: str) -> list[Variant]:
        """Return the ways to write it, by what a strategy needs."""
        period = counted_schema(counted_fields(cls)["period"], clock)
        share = {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": SHARE}
        needs = ("strategy", "period")
        return [
            Variant({"strategy": {"enum": ["burst", "newest_first"]}, "period": period}, needs),
            Variant({"strategy": {"const": "starve"}, "period": whole(1)}, needs),
            Variant({"strategy": {"const": "largest"}, "period": period, "share": share}, needs),
            Variant({"strategy": {"const": "until_end"}}, ("strategy",)),
        ]


def _period_end(due: Moments, period: float, start: float) -> Moments:
    """Return, for each moment, the end of its period. A moment at which a period ends stays as it is."""
    if due.dtype.kind == "i":
        return -(-(due - int(start)) // int(period)) * int(period) + int(start)
    # Never early: not even where the end is rounded down.
    return np.maximum(np.ceil((due - start) / period - SLACK) * period + start, due)
