"""DOFW: online Frank-Wolfe under delays, one lmo per arrival; without delay it is OFW."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.messages import Feedback, Play, in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.core.algorithm import Parts, State
    from edgefw.problem.feasible.base import Real


class Dofw:
    """Keeps G, the sum of the gradients at plays; every arrival in turn moves x towards one vertex.

    D = eta G + 2 (x - x_1); v = lmo(D); sigma = clip(-<v - x, D> / (2 |v - x|^2), 0, 1); x += sigma (v - x).
    """

    name = "dofw"

    def __init__(self, parts: Parts) -> None:
        self._feasible, self._rate = parts.feasible, parts.zeta
        self._first = parts.feasible.uniform_start().astype(parts.dtype)
        self._x = self._first.copy()
        self._gradients = np.zeros_like(self._x)

    def play(self, t: int) -> Play:
        """Return x as the arrivals so far have left it."""
        return Play(t, self._x, [self._x])

    def update(self, t: int, arrivals: Sequence[Feedback]) -> None:  # noqa: ARG002 - any round will do
        """Take one Frank-Wolfe step for every arrival."""
        for feedback in in_order(arrivals):
            self._gradients += feedback.gradient(0)
            self._x = self._step()

    def save(self) -> State:
        """Return x and G."""
        return {"x": self._x, "gradients": self._gradients}

    def load(self, state: State) -> None:
        """Go on from the x and G of another life."""
        self._x, self._gradients = state["x"].copy(), state["gradients"].copy()

    def _step(self) -> Real:
        direction = self._rate * self._gradients + 2 * (self._x - self._first)
        towards = self._feasible.lmo(direction) - self._x
        length = float(np.vdot(towards, towards))
        if length == 0:  # v = x: already there
            return self._x
        sigma = float(np.clip(-float(np.vdot(towards, direction)) / (2 * length), 0, 1))
        return np.asarray(self._x + sigma * towards)


class Ofw(Dofw):
    """OFW: DOFW for feedback that is never late."""

    name = "ofw"
    under_delay = "dofw"
