"""DeLMFW (paper, Algorithm 1): Meta-Frank-Wolfe for one learner under delayed feedback; and MFW, without.

Every learner of the centralized setting has the same two calls: `play(t)` and `update(t, arrivals)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.messages import Feedback, Play, in_order
from edgefw.core.oracle import step_towards
from edgefw.errors import FrameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.core.algorithm import Count, Parts, State


class Delmfw:
    """DeLMFW: K oracles, each fed the sum of the gradients that arrived for its sub-iterate."""

    name = "delmfw"
    queries: Count = "each"

    def __init__(self, parts: Parts) -> None:
        self.oracle = parts.oracle(parts.copy)
        self._steps = [float(eta) for eta in parts.steps]
        self._start = parts.start

    def play(self, t: int) -> Play:
        """Lines 2-7: x_{t,k+1} = (1 - eta_k) x_{t,k} + eta_k v_{t,k}; play x_{t,K+1}."""
        x, queries = self._start, []
        for k, eta in enumerate(self._steps, start=1):
            queries.append(x)
            x = step_towards(x.copy(), eta, self.oracle.answer(t, k))
        return Play(t, x, queries)

    def update(self, t: int, arrivals: Sequence[Feedback]) -> None:  # noqa: ARG002 - any round will do
        """Lines 8-15: g_{t,k} = sum over s in F_t of grad f_s(x_{s,k}), fed to oracle k."""
        if not arrivals:
            return
        ordered = in_order(arrivals)
        features = np.concatenate([feedback.features for feedback in ordered])  # (sum of b, m)
        residuals = np.concatenate([feedback.residuals for feedback in ordered], axis=-1)  # (K, C, sum of b)
        for k in range(1, len(self._steps) + 1):
            self.oracle.feed(k, residuals[k - 1] @ features)

    def save(self) -> State:
        """Return the oracles' sums."""
        return {"leader": self.oracle.leader}

    def load(self, state: State) -> None:
        """Go on with the sums of another life."""
        self.oracle.leader = state["leader"].copy()


class Mfw(Delmfw):
    """MFW: DeLMFW for feedback that is never late, and it insists on that."""

    name = "mfw"
    under_delay: str | None = "delmfw"

    def update(self, t: int, arrivals: Sequence[Feedback]) -> None:
        """Take the feedback of round t, at the end of round t."""
        if [feedback.round for feedback in arrivals] != [t]:
            raise FrameError(
                f"MFW needs the feedback of round {t} at once: use delmfw or bold-mfw with delays"
            )
        super().update(t, arrivals)
