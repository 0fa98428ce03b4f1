"""Delayed gradient descent with projections: of one learner (DGD), and of a network that mixes with W."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.messages import Feedback, Frame, Play, check_frames, in_order, mix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.core.algorithm import Parts, State
    from edgefw.problem.feasible.base import Real


class Dgd:
    """DGD: x = project(x - eta * sum of the gradients that arrived)."""

    name = "dgd"

    def __init__(self, parts: Parts) -> None:
        self._feasible, self._rate = parts.feasible, parts.zeta
        self._x: Real = parts.start

    def play(self, t: int) -> Play:
        """Return x as the arrivals so far have left it."""
        return Play(t, self._x, [self._x])

    def update(self, t: int, arrivals: Sequence[Feedback]) -> None:  # noqa: ARG002 - any round will do
        """Take one projected step along all that arrived."""
        if arrivals:
            self._x = self._feasible.project(self._x - self._rate * _total(arrivals))

    def save(self) -> State:
        """Return x."""
        return {"x": self._x}

    def load(self, state: State) -> None:
        """Go on from the x of another life."""
        self._x = state["x"]


class DistributedDgd:
    """One agent of distributed delayed gradient descent: x_i = project(sum_j w_ij x_j - eta * arrived).

    The same contract as `De2mfw`: one exchange, of plays, a round.
    """

    name = "distributed-dgd"

    def __init__(self, parts: Parts) -> None:
        self.agent, self.neighbours = parts.agent, parts.neighbours
        self._weights, self._feasible, self._rate = dict(parts.weights), parts.feasible, parts.zeta
        self._x: Real = parts.start
        self._arrivals: Sequence[Feedback] = ()
        self._sent: Frame | None = None
        self.applied = 0

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Take F_{t-1}; return the frame (t, 1), which carries the play of round t-1."""
        self._arrivals = arrivals
        self.applied += len(arrivals)
        self._sent = Frame(self.agent, t, 1, self._x, None)
        return self._sent

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        """Mix, step, project; return the play of round t."""
        sent = check_frames(self.agent, self._sent, self.neighbours, frames)
        y = mix(self._weights, {**{j: f.iterate for j, f in frames.items()}, self.agent: self._x})
        if self._arrivals:
            y -= self._rate * _total(self._arrivals)
        self._x, self._sent = self._feasible.project(y), None
        return Play(sent.t, self._x, [self._x])

    def save(self) -> State:
        """Return x."""
        return {"x": self._x, "applied": np.array(self.applied)}

    def load(self, state: State) -> None:
        """Go on from the x of another life."""
        self._x, self.applied = state["x"], int(state["applied"])


def _total(arrivals: Sequence[Feedback]) -> Real:
    """Return the sum of the arrived gradients at plays, by round; (C, m)."""
    ordered = in_order(arrivals)
    total = ordered[0].gradient(0)
    for feedback in ordered[1:]:
        total = total + feedback.gradient(0)
    return total
