"""Delayed decentralized gradient descent with momentum: an algorithm of one's own, in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.messages import Feedback, Frame, Play, check_frames, in_order, mix
from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.core.algorithm import Parts, State


class Momentum:
    """v_i = beta v_i + the gradients that arrived; x_i = project(sum_j w_ij x_j - rate v_i)."""

    def __init__(self, parts: Parts, beta: float = 0.5) -> None:
        if not 0 <= beta < 1:
            raise InputError(f"algorithm.params.beta is {beta}: it must be at least 0 and below 1")
        self.agent, self.neighbours, self.applied = parts.agent, parts.neighbours, 0
        self._weights, self._feasible, self._rate = parts.weights, parts.feasible, parts.zeta
        self._beta, self._x, self._v = beta, parts.start, np.zeros_like(parts.start)
        self._sent: Frame | None = None

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Take the feedback that arrived since the last round; tell the neighbours the last play."""
        late = sum(feedback.gradient(0) for feedback in in_order(arrivals))  # at the plays, by round
        self._v = self._beta * self._v + late
        self.applied += len(arrivals)
        self._sent = Frame(self.agent, t, 1, self._x, None)
        return self._sent

    def advance(self, frames: Mapping[int, Frame]) -> Play:
        """Mix the neighbours' plays with the own one, step, and come back into the set."""
        sent = check_frames(self.agent, self._sent, self.neighbours, frames)
        mixed = mix(self._weights, {j: frame.iterate for j, frame in {**frames, self.agent: sent}.items()})
        self._x, self._sent = self._feasible.project(mixed - self._rate * self._v), None
        return Play(sent.t, self._x, [self._x])

    def save(self) -> State:
        """Return what it has learned: with it, an agent that is killed goes on in another process."""
        return {"x": self._x, "v": self._v, "applied": np.array(self.applied)}

    def load(self, state: State) -> None:
        """Go on from what another one has saved."""
        self._x, self._v, self.applied = state["x"], state["v"], int(state["applied"])
