"""`latency`: feedback comes late by a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from edgefw.delays.drawn import Drawn, Trace
from edgefw.delays.schema import DURATION
from edgefw.delays.units import Duration, parse_duration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgefw.delays.fault import Seen


class Latency(Drawn):
    """Feedback comes late by a time (wall clock)."""

    adds_time = True
    clocks = ("wall",)
    base = "latency"
    none = 0
    value = "a time with its unit, such as 750ms"
    schemas = (DURATION, DURATION)
    examples = (
        {"type": "latency", "latency": "750ms"},
        {"type": "latency", "latency": "2s", "jitter": "1s", "distribution": "pareto", "agents": [3]},
        {"type": "latency", "trace": ["100ms", "2s", "300ms"]},
    )

    type: Literal["latency"] = "latency"
    latency: Duration = Field(default=0.0, description="how late")
    jitter: Duration = Field(default=0.0, description="how far that varies")
    trace: Trace[Duration] = None

    def adds(self, seen: Seen, clock: str) -> NDArray[np.float64]:  # noqa: ARG002 - seconds, as it is drawn
        """Return the seconds that are drawn."""
        return self.values(seen.draws, seen.rounds)

    @classmethod
    def read(cls, text: str) -> str | None:
        """Return the text itself, if it is a time."""
        try:
            parse_duration(text)
        except ValueError:
            return None
        return text
