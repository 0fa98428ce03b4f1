"""Regret and the paper's total loss, from the global losses of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.problem.feasible.base import Real
    from edgefw.problem.loss import Labels, Loss

Losses = NDArray[np.float64]


@dataclass(frozen=True)
class Comparator:
    """The best fixed point's loss over the rounds played, known to lie in [value - gap, value].

    `value` is the loss of a point of the set, `gap` its certified distance from the optimum.
    """

    value: float
    gap: float


def global_losses(loss: Loss, points: Sequence[Real], features: Real, labels: Labels) -> Losses:
    """Return F_t of every point, each (C, m), on all batches of a round, (n, b, m) and (n, b).

    Computed in the points' own type, one product a point: the same points give the same bits, whoever asks.
    """
    samples = features.reshape(-1, features.shape[-1])
    Z = np.stack([point @ samples.T for point in points])  # (points, C, n b)
    return np.asarray(loss.value(Z, labels.reshape(-1)).astype(np.float64))


def total_loss(losses: Losses) -> float:
    """Return sum_t max_i F_t(x_t^i), the paper's total loss; `losses` is (rounds, n)."""
    return float(losses.max(axis=1).sum())


def cumulative_loss(losses: Losses) -> Losses:
    """Return sum_t F_t(x_t^i) for every agent; `losses` is (rounds, n), the result (n,)."""
    return np.asarray(losses.sum(axis=0))


def network_regret(losses: Losses, comparator: Comparator) -> float:
    """Return max_i (sum_t F_t(x_t^i) - value); the true one is this or more, by at most the gap."""
    return float(cumulative_loss(losses).max() - comparator.value)
