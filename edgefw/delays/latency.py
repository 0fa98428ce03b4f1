"""`latency`: feedback comes late by a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from edgefw.delays.drawn import Drawn, Trace
from edgefw.delays.schema import DURATION
from edgefw.delays.units import Duration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgefw.delays.fault import Rules, Seen, Window
    from edgefw.delays.schema import Schema


class Latency(Drawn):
    """Feedback comes late by a time (wall clock)."""

    adds_time: ClassVar[bool] = True
    clocks: ClassVar[tuple[str, ...]] = ("wall",)
    base: ClassVar[str] = "latency"
    none: ClassVar[int] = 0

    type: Literal["latency"] = "latency"
    latency: Duration = 0.0
    jitter: Duration = 0.0
    trace: Trace[Duration] = None

    def adds(self, seen: Seen, clock: str) -> NDArray[np.float64]:  # noqa: ARG002 - seconds, as it is drawn
        """Return the seconds that are drawn."""
        return self.amount.values(seen.stream, seen.rounds)

    def declared(self, rules: Rules, window: Window | None) -> float:  # noqa: ARG002 - whenever it acts
        """Return latency + jitter: the most of a uniform one; others have no most, but this as their size."""
        return (self.latency + self.jitter) / (rules.round_seconds or 1.0)

    @classmethod
    def _schemas(cls) -> tuple[Schema, Schema]:
        return DURATION, DURATION
