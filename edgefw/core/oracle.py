"""Online linear oracles: an agent's K learners O_1..O_K, each predicting where its gradients will point.

All K of them live in one object, because they share a feasible set, a rate and the noise, and because a
sub-iteration touches one slice of one array.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from edgefw.errors import unknown
from edgefw.problem.feasible import Atoms, FeasibleSet
from edgefw.problem.feasible.base import Real
from edgefw.problem.seeding import rng

Vertex = Atoms | Real

NAMES = ("ftpl", "ogd")


class Oracle(Protocol):
    """The K oracles of one agent. k is 1-based, as in the paper.

    `leader`, (K, C, m), is all that feeding changes.
    """

    leader: Real

    def answer(self, t: int, k: int) -> Vertex:
        """Return v_{t,k}, the vertex that oracle k proposes in round t."""
        ...

    def feed(self, k: int, d: Real) -> None:
        """Tell oracle k the linear loss <d, .>; d has shape (C, m)."""
        ...


class Noise(Protocol):
    """FTPL's perturbation. `constant` is what is there from the start, `fresh` what every query adds."""

    def constant(self) -> Real:
        """Return the perturbation drawn once; shape (C, m)."""
        ...

    def fresh(self, t: int, k: int) -> Real | None:
        """Return the perturbation of the query (t, k) alone, shape (C, m), or None for none."""
        ...


class FixedNoise:
    """Uniform on [0, 1]^(C m), drawn once for an agent and shared by its oracles."""

    def __init__(self, shape: tuple[int, int], *, seed: int, agent: int) -> None:
        self._value = rng(seed, "noise", agent).random(shape, dtype=np.float32)

    def constant(self) -> Real:
        """Return the one draw."""
        return self._value

    def fresh(self, t: int, k: int) -> None:
        """Return None: a query adds nothing."""


class FreshNoise:
    """Uniform on [-1/2, 1/2]^(C m), drawn anew at every query: a function of (seed, agent, t, k) alone."""

    def __init__(self, shape: tuple[int, int], K: int, *, seed: int, agent: int) -> None:
        self._shape, self._K, self._seed, self._agent = shape, K, seed, agent
        self._round = 0
        self._values: Real = np.empty((0, *shape), dtype=np.float32)  # (K, C, m) of the last round asked for

    def constant(self) -> Real:
        """Return zeros."""
        return np.zeros(self._shape, dtype=np.float32)

    def fresh(self, t: int, k: int) -> Real:
        """Return the draw of (t, k), the whole round drawn at its first query."""
        if t != self._round:
            draw = rng(self._seed, "noise", self._agent, t).random((self._K, *self._shape), dtype=np.float32)
            self._round, self._values = t, draw - np.float32(0.5)
        return np.asarray(self._values[k - 1])


class Ftpl:
    """Follow the perturbed leader: v = argmin over the set of <zeta * (sum of d) + noise, v> (paper, eq. 1).

    Holds zeta * sum + constant noise, so that an answer without fresh noise is one call of the set's `lmo`.
    """

    def __init__(
        self, feasible: FeasibleSet, K: int, zeta: float, noise: Noise, dtype: np.dtype[Any]
    ) -> None:
        self._feasible, self._zeta, self._noise = feasible, zeta, noise
        self.leader = np.tile(noise.constant().astype(dtype), (K, 1, 1))  # (K, C, m)

    def answer(self, t: int, k: int) -> Vertex:
        """Return the vertex that minimises the perturbed leader."""
        leader = self.leader[k - 1]
        fresh = self._noise.fresh(t, k)
        return self._feasible.vertex(leader if fresh is None else leader + fresh)

    def feed(self, k: int, d: Real) -> None:
        """Add zeta d to the sum."""
        self.leader[k - 1] += self._zeta * d


class Ogd:
    """Online gradient descent: v_1 = start(), v = project(v - zeta d)."""

    def __init__(self, feasible: FeasibleSet, K: int, zeta: float, dtype: np.dtype[Any]) -> None:
        self._feasible, self._zeta = feasible, zeta
        self.leader = np.tile(feasible.start().astype(dtype), (K, 1, 1))  # (K, C, m)

    def answer(self, t: int, k: int) -> Vertex:  # noqa: ARG002 - deterministic: the round does not matter
        """Return where the descent stands."""
        return np.array(self.leader[k - 1])

    def feed(self, k: int, d: Real) -> None:
        """Take one projected step."""
        self.leader[k - 1] = self._feasible.project(self.leader[k - 1] - self._zeta * d)


def make_noise(name: str, shape: tuple[int, int], K: int, *, seed: int, agent: int) -> Noise:
    """Return the noise called `name`: `fixed` (the distributed runs') or `fresh` (the centralized runs')."""
    if name == "fixed":
        return FixedNoise(shape, seed=seed, agent=agent)
    if name == "fresh":
        return FreshNoise(shape, K, seed=seed, agent=agent)
    raise unknown("noise", name, ("fixed", "fresh"))


def step_towards(y: Real, eta: float, v: Vertex) -> Real:
    """Turn y into (1 - eta) y + eta v, in place, and return it; y has shape (C, m)."""
    y *= 1.0 - eta
    if isinstance(v, Atoms):
        y.reshape(-1)[v.index] += eta * v.value
    else:
        y += eta * v
    return y
