"""What agents, environments and brokers hand to each other: plain values, however they travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

from edgefw.errors import FrameError
from edgefw.problem.loss import Labels, Loss, gradient, logits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgefw.problem.feasible.base import Real


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """What an agent tells its neighbours at (t, k).

    `iterate` is x_{t,k} of shape (C, m). `tracker` is g_{t-1,k} of shape (C, m), or None where it is exactly
    zero: update t-1 and prediction t share their exchanges (see `de2mfw`). A frame is never written to.
    """

    agent: int
    t: int
    k: int
    iterate: Real
    tracker: Real | None


@dataclass(frozen=True, eq=False, slots=True)
class Play:
    """The decision of round t: `point` (C, m), and the points whose gradients the algorithm asks for.

    `queries` is x_{t,1}..x_{t,K} for the Meta-Frank-Wolfe family, the play alone for the others.
    """

    t: int
    point: Real
    queries: Sequence[Real]


@dataclass(frozen=True, eq=False, slots=True)
class Feedback:
    """The gradients of round `round` at every query, factored: gradient q is residuals[q] @ features.

    `features` is A (b, m), shared by all queries; `residuals` is (q, C, b). Exact, and some hundred times
    smaller than the dense gradients.
    """

    round: int
    features: Real
    residuals: Real

    def gradient(self, q: int) -> Real:
        """Return the gradient at query q (0-based); shape (C, m)."""
        return gradient(self.residuals[q], self.features)

    def difference(self, q: int) -> Real:
        """Return the gradient at query q less the one at query q-1; shape (C, m)."""
        return gradient(self.residuals[q] - self.residuals[q - 1], self.features)


@dataclass(frozen=True, slots=True)
class Score:
    """What an agent is told about one of its plays.

    Once there is a fixed point to compare with, the regret so far is at least `regret`; where there is a
    `gap`, it is at most `regret + gap`.
    """

    round: int
    global_loss: float
    cumulative_loss: float
    regret: float | None
    gap: float | None


def observe(loss: Loss, play: Play, features: Real, labels: Labels) -> tuple[float, Feedback]:
    """Return the loss of `play` on the batch (b, m), and the feedback on its queries: nature's answer."""
    if len(play.queries) == 1 and play.queries[0] is play.point:
        residual = loss.residual(logits(play.point, features), labels)[None]
    else:
        residual = loss.residual(logits(np.stack(list(play.queries)), features), labels)
    value = float(loss.value(logits(play.point, features), labels))
    return value, Feedback(play.t, features, residual)


def gradient_at_play(loss: Loss, play: Play, features: Real, labels: Labels) -> Real:
    """Return the gradient of the batch's loss at the play itself; shape (C, m).

    It is how much the feedback of a round matters, whatever the queries are: those of the Meta-Frank-Wolfe
    family end one step before the play.
    """
    return gradient(loss.residual(logits(play.point, features), labels), features)


def gradient_norm(loss: Loss, play: Play, features: Real, labels: Labels) -> float:
    """Return the norm of that gradient: a broker ranks feedback by it."""
    return float(np.linalg.norm(gradient_at_play(loss, play, features, labels)))


def in_order(arrivals: Sequence[Feedback]) -> list[Feedback]:
    """Return the arrivals by round, so that no result depends on which came first."""
    return sorted(arrivals, key=lambda feedback: feedback.round)


def check_frames(
    agent: int, sent: Frame | None, neighbours: Sequence[int], frames: Mapping[int, Frame]
) -> Frame:
    """Return `sent`, the agent's own frame (t, k), if `frames` has that of every neighbour and no other."""
    if sent is None:
        raise FrameError(f"agent {agent} got frames between two sweeps: call start_sweep first")
    if sorted(frames) != list(neighbours):
        raise FrameError(
            f"agent {agent} needs one frame from each of {list(neighbours)}, got {sorted(frames)}"
        )
    for j, frame in frames.items():
        if (frame.t, frame.k) != (sent.t, sent.k):
            raise FrameError(
                f"agent {agent} expected (t, k) = {(sent.t, sent.k)} from agent {j}, got {(frame.t, frame.k)}"
            )
    return sent


@overload
def mix(weights: Mapping[int, float], values: Mapping[int, Real]) -> Real: ...


@overload
def mix(weights: Mapping[int, float], values: Mapping[int, Real | None]) -> Real | None: ...


def mix(weights: Mapping[int, float], values: Mapping[int, Real | None]) -> Real | None:
    """Return sum_j w_ij value_j, j in ascending order; None stands for zero, in and out.

    A new array: what was received stays as it was. Shape (C, m).
    """
    total: Real | None = None
    for j in sorted(weights):
        value = values[j]
        if value is None:
            continue
        if total is None:
            total = weights[j] * value
            part = np.empty_like(total)  # for all further ones
        else:
            total += np.multiply(value, weights[j], part)
    return total
