"""How regret grows with the total delay B, judged where growth can be seen.

One slope over everything says little. Where delay is short, regret is mostly what a learner pays without any
delay; where it is long, regret ends at that of a learner which hears nothing. Both flatten the curve, so that
even a learner that ignores all late feedback has a small slope. Growth is judged in between: from where delay
has doubled regret up to where regret comes near that without any feedback. Regret that grows linearly with
the delay has a slope above 1/2 there, however small its factor, and one that ignores late feedback has no
points there: it fails, since nothing is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from edgefw.experiments.stats import Spread, local_slopes, log_slope, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOUBLED = 2.0  # times the regret without delay: from here on delay is what regret is made of
SATURATED = 0.8  # of the regret without feedback: from here on there is little left to lose
LEAST_POINTS, LEAST_RANGE = 3, 3.0  # how many delays have to lie in between, over which factor in B
MAX_SLOPE = 0.55  # of log regret against log B: 1/2, and a tenth of it for what a fit may be off
MAX_RISE = 1.2  # of regret / sqrt(B), from any delay to any longer one


@dataclass(frozen=True, eq=False)
class Growth:
    """Regrets (seeds, points) for growing B (points,): the first without delay, the last without feedback."""

    B: NDArray[np.float64]
    regret: NDArray[np.float64]

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """Regret over seeds, (points,)."""
        return np.asarray(self.regret.mean(axis=0))

    @cached_property
    def ratio(self) -> NDArray[np.float64]:
        """Regret / sqrt(B), (points,)."""
        return np.asarray(self.mean / np.sqrt(self.B))

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """Regret as a share of that without feedback, (points,)."""
        return np.asarray(self.mean / self.mean[-1])

    @cached_property
    def judged(self) -> NDArray[np.int64]:
        """The points at which growth is judged: delay has doubled regret, and none so far was saturated."""
        unsaturated = np.logical_and.accumulate(self.share < SATURATED)
        return np.flatnonzero(unsaturated & (self.mean >= DOUBLED * self.mean[0]))

    @property
    def visible(self) -> bool:
        """Whether there are enough points to judge by."""
        B = self.B[self.judged]
        return len(B) >= LEAST_POINTS and bool(B[-1] >= LEAST_RANGE * B[0])

    @property
    def slope(self) -> Spread:
        """The fitted slope of log regret against log B where it is judged, over seeds."""
        return spread([log_slope(self.B[self.judged], one) for one in self.regret[:, self.judged]])

    @property
    def local(self) -> list[float]:
        """The slopes between neighbouring points, one less than points."""
        return local_slopes(self.B, self.mean)

    @property
    def rise(self) -> float:
        """The largest factor from one judged point's regret / sqrt(B) to that of a later one."""
        ratios = self.ratio[self.judged]
        return float((ratios / np.minimum.accumulate(ratios)).max())

    @property
    def holds(self) -> bool:
        """Whether regret was seen to grow, with every seed, no faster than sqrt(B)."""
        return self.visible and self.slope.high <= MAX_SLOPE and self.rise <= MAX_RISE

    def evidence(self) -> str:
        """Say what the judgement rests on."""
        if not self.visible:
            return (
                f"not shown: {len(self.judged)} of {len(self.B) - 2} delays lie between {DOUBLED:g} times "
                f"the regret without delay ({self.mean[0]:.0f}) and {SATURATED:.0%} of that without feedback "
                f"({self.mean[-1]:.0f})"
            )
        ratios, steps = self.ratio[self.judged], [self.local[i] for i, _ in pairwise(self.judged)]
        return (
            f"slope {self.slope.mean:.2f} ({self.slope.low:.2f} to {self.slope.high:.2f} over seeds), "
            f"local {', '.join(f'{step:.2f}' for step in steps)}; regret / sqrt(B) {ratios.min():.2f} to "
            f"{ratios.max():.2f}, rises by {100 * (self.rise - 1):.0f} %; "
            f"B = {self.B[self.judged[0]]:.0f} to {self.B[self.judged[-1]]:.0f}"
        )
