"""De2MFW for one agent, as a state machine without I/O (paper, Algorithm 2).

Theory of operation
-------------------
A round has a prediction block (K exchanges of iterates, ending in the play) and an update block (K exchanges
of gradient trackers, feeding the oracles). Prediction of round t at sub-iteration k needs oracle k as update
t-1 left it, and nothing else of that update. So both run as one *sweep*: exchange k of sweep t carries the
pair (g_{t-1,k}, x_{t,k}); on receipt the agent mixes the trackers, feeds oracle k, asks it for a vertex, and
steps. The arithmetic is that of the paper's two blocks, bit for bit, in half the exchanges.

The driver's side of the contract:

1. `start_sweep(t, arrivals)` with F_{t-1}, the feedback that arrived since sweep t-1 began; returns the frame
   (t, 1) for every neighbour.
2. `advance(frames)` with the frame (t, k) of every neighbour; returns the frame (t, k+1), or after k = K the
   play of round t.

An agent without arrivals takes part with a zero tracker, sent as None: were it to stay out, W would no longer
be doubly stochastic. Update T moves no play of rounds 1..T; who wants it (a checkpoint) runs sweep T+1 and
leaves its play aside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.messages import Feedback, Frame, Play, check_frames, in_order, mix
from edgefw.core.oracle import step_towards

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.core.algorithm import Count, Parts, State
    from edgefw.problem.feasible.base import Real


class De2mfw:
    """One agent of De2MFW."""

    name = "de2mfw"
    exchanges: Count = "each"
    arrays = 2  # an iterate and a tracker
    queries: Count = "each"
    vectorised = "edgefw.simulator:De2mfwNetwork"

    def __init__(self, parts: Parts) -> None:
        self.agent, self.neighbours = parts.agent, parts.neighbours
        self.oracle = parts.oracle(0)
        self._weights = dict(parts.weights)
        self._steps = [float(eta) for eta in parts.steps]
        self._start = parts.start
        self._arrivals: list[Feedback] = []
        self._queries: list[Real] = []
        self._sent: Frame | None = None
        self.applied = 0  # feedbacks used so far: each one exactly once

    @property
    def K(self) -> int:  # noqa: N802 - the paper's name
        """The number of sub-iterations of a round."""
        return len(self._steps)

    def start_sweep(self, t: int, arrivals: Sequence[Feedback]) -> Frame:
        """Begin update t-1 with `arrivals` = F_{t-1} and prediction t; return the frame (t, 1)."""
        self._arrivals = in_order(arrivals)
        self.applied += len(arrivals)
        self._queries = [self._start]
        tracker = _sum([feedback.gradient(0) for feedback in self._arrivals])
        self._sent = Frame(self.agent, t, 1, self._start, tracker)
        return self._sent

    def advance(self, frames: Mapping[int, Frame]) -> Frame | Play:
        """Take the neighbours' frames (t, k); return the own frame (t, k+1), or the play after k = K."""
        sent = check_frames(self.agent, self._sent, self.neighbours, frames)
        everyone = {**frames, self.agent: sent}
        d = mix(self._weights, {j: frame.tracker for j, frame in everyone.items()})
        if d is not None:
            self.oracle.feed(sent.k, d)
        y = mix(self._weights, {j: frame.iterate for j, frame in everyone.items()})
        x = step_towards(y, self._steps[sent.k - 1], self.oracle.answer(sent.t, sent.k))
        if sent.k == self.K:
            self._sent = None
            return Play(sent.t, x, self._queries)
        self._queries.append(x)
        self._sent = Frame(self.agent, sent.t, sent.k + 1, x, self._next_tracker(d, sent.k))
        return self._sent

    def save(self) -> State:
        """Return the oracles' sums: all that lasts longer than a sweep."""
        return {"leader": self.oracle.leader, "applied": np.array(self.applied)}

    def load(self, state: State) -> None:
        """Go on with the sums of another life."""
        self.oracle.leader = state["leader"].copy()
        self.applied = int(state["applied"])

    def _next_tracker(self, d: Real | None, k: int) -> Real | None:
        """Return g_{k+1} = d_k + sum over s in F of (grad f_s(x_{s,k+1}) - grad f_s(x_{s,k})); (C, m)."""
        change = _sum([feedback.difference(k) for feedback in self._arrivals])
        if change is None or d is None:
            return change if d is None else d
        return d + change


def _sum(values: list[Real]) -> Real | None:
    """Return the sum in the given order, or None (an exact zero) of nothing."""
    total: Real | None = None
    for value in values:
        total = value if total is None else total + value
    return total
