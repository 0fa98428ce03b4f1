"""`gilbert_elliott`: a link that switches between a good and a bad state, each with its own latency.

Theory of operation. A round has one number u, uniform on [0, 1): after it the link is bad if u < p where it
was good, and if u < 1 - r where it was bad. So a u below both makes it bad and one above both makes it good,
whatever it was; one in between leaves it as it is (or, where p + r > 1, turns it). The state in a round is
found from the last round that decided: it depends on the numbers alone, not on who has asked for which rounds
before. Round 0 decides by the share of the time that the link is bad.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from edgefw.delays.fault import Fault, Seed, level_added
from edgefw.delays.units import Delay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.delays.draws import Draws
    from edgefw.delays.fault import Seen

LOOK_BACK = (64, 65_536)  # rounds that are drawn at once to find the state before: at first, and at most


class GilbertElliott(Fault):
    """A link that is good or bad for a while (Gilbert 1960, Elliott 1963), with a delay for each.

    Each round a good link turns bad by chance `p`, and a bad one good by chance `r`: it is bad for 1 / r
    rounds on average, and p / (p + r) of the time. Feedback has the delay of the state in its round.
    """

    adds_time = True
    steady = True
    examples = (
        {"type": "gilbert_elliott", "good": "20ms", "bad": "2s", "p": 0.02, "r": 0.2},
        {"type": "gilbert_elliott", "good": 1, "bad": 15, "p": 0.05, "r": 0.25},
    )

    type: Literal["gilbert_elliott"] = "gilbert_elliott"
    good: Delay = Field(description="the delay while the link is good")
    bad: Delay = Field(description="the delay while the link is bad")
    p: float = Field(ge=0, le=1, description="chance a round that a good link turns bad")
    r: float = Field(ge=0, le=1, description="chance a round that a bad link turns good")
    seed: Seed = None

    def adds(self, seen: Seen, clock: str) -> NDArray[Any]:
        """Return the delay of the state in each round."""
        return level_added(np.where(self.is_bad(seen), float(self.bad), float(self.good)), clock)

    @property
    def largest(self) -> float:
        """The higher one of its delays."""
        return max(self.good, self.bad)

    def is_bad(self, seen: Seen) -> NDArray[np.bool_]:
        """Return whether the link is bad in each of these rounds, (len(rounds),), in any order."""
        rounds = np.asarray(seen.rounds, dtype=np.int64)
        if not len(rounds):
            return np.zeros(0, dtype=np.bool_)
        first, last = int(rounds.min()), int(rounds.max())
        before = self._state(seen.draws, first - 1)
        return self._after(seen.draws.amounts(range(first, last + 1)), before=before)[rounds - first]

    def _after(self, u: NDArray[np.float64], *, before: bool) -> NDArray[np.bool_]:
        """Return the states after some consecutive rounds, given their numbers and the state before them."""
        low, high, turns = self._thresholds
        decides, places = (u < low) | (u >= high), np.arange(len(u))
        last = np.maximum.accumulate(np.where(decides, places, -1))
        found = np.where(last < 0, before, u[last] < low)
        states: NDArray[np.bool_] = found ^ (turns & ((places - last) % 2 == 1))
        return states

    def _state(self, draws: Draws, t: int) -> bool:
        """Return the state after round t: look back, further each time, for a round whose number decides."""
        low, high, turns = self._thresholds
        steps, size = 0, LOOK_BACK[0]
        while t > 0 and high - low < 1:
            u = draws.amounts(range(max(t - size, 0) + 1, t + 1))
            if ((u < low) | (u >= high)).any():
                return bool(self._after(u, before=False)[-1]) ^ (turns and steps % 2 == 1)
            steps, t, size = steps + len(u), t - len(u), min(2 * size, LOOK_BACK[1])
        return self._begins_bad(draws) ^ (turns and (steps + t) % 2 == 1)

    def _begins_bad(self, draws: Draws) -> bool:
        return bool(draws.amounts(range(1))[0] * (self.p + self.r) < self.p)

    @property
    def _thresholds(self) -> tuple[float, float, bool]:
        """Below which u decides for bad, from which on for good, and whether one between them turns it."""
        low, high = sorted((self.p, 1 - self.r))
        return low, high, self.p > 1 - self.r
