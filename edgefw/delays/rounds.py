"""`rounds`: feedback comes a number of rounds late."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from edgefw.delays.drawn import Drawn, Trace
from edgefw.delays.schema import whole
from edgefw.delays.units import MOST_ROUNDS, nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.delays.fault import Rules, Seen, Window

Count = Annotated[int, Field(gt=0, le=MOST_ROUNDS)]


class Rounds(Drawn):
    """Feedback comes in round s + rounds - 1 (rounds clock): 1 is no delay."""

    clocks = ("rounds",)
    base = "rounds"
    none = 1
    value = "a whole number of rounds, 1 or more"
    schemas = (whole(1), whole(0))
    examples = (
        {"type": "rounds", "rounds": 20},
        {"type": "rounds", "rounds": 12, "jitter": 9, "agents": {"draw": 2}},
        {"type": "rounds", "trace": [1, 5, 2]},
    )

    type: Literal["rounds"] = "rounds"
    rounds: Count = Field(default=1, description="how late: 1 is no delay")
    jitter: int = Field(default=0, ge=0, le=MOST_ROUNDS, description="how far that varies")
    trace: Trace[Count] = None

    def adds(self, seen: Seen, clock: str) -> NDArray[np.int64]:  # noqa: ARG002 - it has one alone
        """Return the rounds that are drawn, less the one that is no delay.

        uniform: every integer of rounds - jitter .. rounds + jitter is equally likely. Others: the nearest.
        """
        if self.law != "uniform":
            return nearest(self.values(seen.draws, seen.rounds)) - 1
        u = seen.draws.amounts(seen.rounds, self.correlation)
        return nearest(self.rounds - self.jitter + np.floor(u * (2 * self.jitter + 1))) - 1

    def most(self, rules: Rules, window: Window | None) -> int | None:  # noqa: ARG002 - whenever it acts
        """Return the largest number that can be drawn, less 1."""
        if self.law == "uniform":
            return self.rounds + self.jitter - 1
        return None if self.jitter else max(self.trace or [self.rounds]) - 1

    @classmethod
    def read(cls, text: str) -> int | None:
        """Return a number of rounds."""
        return int(text) if re.fullmatch(r"0*[1-9][0-9]{0,15}", text) else None
