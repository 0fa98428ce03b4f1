"""Step sizes eta_k and the oracle rate zeta: as in the published experiments, or as in the theorems."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Steps = NDArray[np.float64]


def sub_iterations(T: int) -> int:
    """Return K = ceil(sqrt(T)), the number of oracles of an agent.

    >>> sub_iterations(1000)
    32
    """
    return math.isqrt(T - 1) + 1 if T > 0 else 0


def experiment_steps(K: int) -> Steps:
    """Return eta_k = min(1, 1/(k+3)) for k = 1..K, the steps of the published runs; shape (K,)."""
    return np.asarray(1.0 / (np.arange(1, K + 1) + 3.0), dtype=np.float64)


def theorem_steps(K: int, *, G: float, beta: float, D: float, distributed: bool) -> Steps:
    """Return eta_k = min(1, A/k), k = 1..K, of Theorem 1 (centralized) or 2 (distributed); shape (K,).

    A = max(3, G/(beta D)), and max(3, 3G/(2 beta D)) in the distributed case. Theorem 2 names a third term,
    (2 beta C_d + C_g)/(beta D), whose C_g grows with A itself: no finite A satisfies it, so it is left out.
    """
    A = max(3.0, (1.5 if distributed else 1.0) * G / (beta * D))
    return np.asarray(np.minimum(1.0, A / np.arange(1, K + 1)), dtype=np.float64)


def experiment_rate(T: int, max_delay: int = 1) -> float:
    """Return zeta = 1/sqrt(d T): the centralized runs know d; the distributed ones take d = 1."""
    return 1.0 / math.sqrt(max_delay * T)


def theorem_rate(*, G: float, B: float) -> float:
    """Return zeta = 1/(G sqrt(B)), B the total delay or what is known of it beforehand."""
    return 1.0 / (G * math.sqrt(B))
