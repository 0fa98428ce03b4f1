"""`ramp`: a delay that grows or shrinks in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from edgefw.delays.fault import Fault, level_added
from edgefw.delays.units import Delay, Step, completed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.delays.fault import Seen


class Ramp(Fault):
    """A delay that changes by `step` every `interval`, from `start` to `stop`, and stays there.

    Its time runs from where it begins. A message has the level of the moment at which it was submitted, and
    the first one if it is older than the ramp.
    """

    adds_time = True
    climbs = True
    examples = (
        {"type": "ramp", "start": "0s", "stop": "2s", "step": "500ms", "interval": "5s"},
        {"type": "ramp", "start": 1, "stop": 9, "step": 2, "interval": 20},
    )

    type: Literal["ramp"] = "ramp"
    start: Delay = Field(description="the delay with which it begins")
    stop: Delay = Field(description="the delay with which it ends, higher or lower")
    step: Step = Field(description="how much it changes at a time")
    interval: Step = Field(description="how long it stays as it is")

    def level(self, elapsed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the delay after each elapsed time.

        >>> Ramp(start=1, stop=5, step=2, interval=10).level(np.array([0.0, 9.0, 10.0, 500.0]))
        array([1., 1., 3., 5.])
        """
        steps = completed(elapsed, self.interval)
        climbed = np.minimum(float(self.step) * steps, abs(self.stop - self.start))
        change: NDArray[np.float64] = np.copysign(climbed, self.stop - self.start)
        return self.start + change

    def adds(self, seen: Seen, clock: str) -> NDArray[Any]:
        """Return its level: seconds, or rounds less the one that is no delay."""
        return level_added(self.level(seen.elapsed), clock)

    @property
    def largest(self) -> float:
        """The higher one of its ends."""
        return max(self.start, self.stop)
