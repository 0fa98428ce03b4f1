"""What holds exactly in De2MFW, and what the paper's proofs rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
import tiny
from hypothesis import given, settings

from edgefw.core.oracle import FixedNoise, Ftpl
from edgefw.delays.book import ArrivalBook
from edgefw.problem.feasible import Atoms, densify, make_set

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.core.de2mfw import De2mfw
    from edgefw.core.messages import Play
    from edgefw.core.oracle import Oracle, Vertex
    from edgefw.problem.feasible import FeasibleSet
    from edgefw.problem.feasible.base import Real
    from edgefw.scenario.setup import Setup

CLOSE = 1e-9


class Spy:
    """An oracle that remembers: d_{t,k} in `fed` (sweep t+1 feeds it before its query), v_{t,k} in `told`."""

    def __init__(self, oracle: Oracle, shape: tuple[int, int]) -> None:
        self.oracle, self.shape, self.leader = oracle, shape, oracle.leader
        self.fed: dict[tuple[int, int], Real] = {}
        self.told: dict[tuple[int, int], Real] = {}
        self._last: dict[int, Real] = {}

    def answer(self, t: int, k: int) -> Vertex:
        self.fed[t - 1, k] = self._last.pop(k, np.zeros(self.shape))
        v = self.oracle.answer(t, k)
        self.told[t, k] = densify(v, self.shape) if isinstance(v, Atoms) else v
        return v

    def feed(self, k: int, d: Real) -> None:
        self._last[k] = d.copy()
        self.oracle.feed(k, d)


class Recorded:
    """A run, update T included: plays[t-1][i], and every agent's spy."""

    def __init__(self, setup: Setup, agents: list[De2mfw] | None = None) -> None:
        self.setup = setup
        members = agents or [cast("De2mfw", agent) for agent in setup.agents()]
        self.spies = [Spy(agent.oracle, setup.feasible.shape) for agent in members]
        for agent, spy in zip(members, self.spies, strict=True):
            agent.oracle = spy
        self.plays: list[list[Play]] = list(tiny.plays(setup, members, sweeps=setup.rounds + 1))

    def x(self, t: int, k: int) -> Real:
        """Return every agent's x_{t,k}, k = 1..K+1; (n, C, m)."""
        return np.stack([[*play.queries, play.point][k - 1] for play in self.plays[t - 1]])

    def v(self, t: int, k: int) -> Real:
        """Return every agent's v_{t,k}; (n, C, m)."""
        return np.stack([spy.told[t, k] for spy in self.spies])

    def d(self, t: int, k: int) -> Real:
        """Return every agent's d_{t,k}; (n, C, m)."""
        return np.stack([spy.fed[t, k] for spy in self.spies])

    def y(self, t: int, k: int) -> Real:
        """Return every agent's y_{t,k}, from what its step made of it; (n, C, m)."""
        eta = self.setup.steps[k - 1]
        return np.asarray((self.x(t, k + 1) - eta * self.v(t, k)) / (1 - eta))

    def gradient(self, i: int, s: int, k: int) -> Real:
        """Return grad f^i_s at x^i_{s,k}; (C, m)."""
        features, labels = self.setup.batch(i, s)
        return np.asarray(self.setup.loss.residual(self.x(s, k)[i] @ features.T, labels) @ features)


@settings(deadline=None, max_examples=25)
@given(tiny.networks())
def test_the_mean_iterate_is_that_of_one_learner_with_the_mean_vertex(setup: Setup) -> None:
    run = Recorded(setup)
    for t in range(1, setup.rounds + 1):
        for k, eta in enumerate(setup.steps, start=1):
            expected = (1 - eta) * run.x(t, k).mean(axis=0) + eta * run.v(t, k).mean(axis=0)
            np.testing.assert_allclose(run.x(t, k + 1).mean(axis=0), expected, rtol=0, atol=CLOSE)


@settings(deadline=None, max_examples=25)
@given(tiny.networks())
def test_the_trackers_sum_up_to_the_arrived_gradients(setup: Setup) -> None:
    """No arrived gradient is lost, none counts twice; round T (and its update) included."""
    run, book = Recorded(setup), ArrivalBook(setup.delays)
    for t in range(1, setup.rounds + 1):
        for k in range(1, len(setup.steps) + 1):
            arrived = [run.gradient(i, s, k) for i, rounds in book.at(t).items() for s in rounds]
            expected = np.sum(arrived, axis=0) if arrived else np.zeros(setup.feasible.shape)
            np.testing.assert_allclose(run.d(t, k).sum(axis=0), expected, rtol=0, atol=CLOSE)


def _second_eigenvalue(setup: Setup) -> float:
    """Return the second largest eigenvalue of the mixing weights, in magnitude."""
    return float(np.abs(np.linalg.eigvalsh(setup.W)[:-1]).max(initial=0.0))


@settings(deadline=None, max_examples=25)
@given(tiny.networks())
def test_mixing_contracts_by_the_second_eigenvalue(setup: Setup) -> None:
    run, eigenvalue = Recorded(setup), _second_eigenvalue(setup)
    for t in range(1, setup.rounds + 1):
        for k, eta in enumerate(setup.steps[:-1], start=1):
            right = (1 - eta) * _spread(run.y(t, k)) + eta * _spread(run.v(t, k))
            assert _spread(run.y(t, k + 1)) <= eigenvalue * right + CLOSE


class Constant:
    """An oracle that always answers the same point and learns nothing."""

    def __init__(self, point: Real) -> None:
        self.point = self.leader = point

    def answer(self, t: int, k: int) -> Vertex:
        del t, k
        return self.point

    def feed(self, k: int, d: Real) -> None:
        """Leave it."""


@pytest.mark.parametrize("topology", ["cycle", "line", "star", "edges"])
def test_the_contraction_is_attained_by_vertices_along_the_slowest_mode(topology: str) -> None:
    """So the inequality above notices an eigenvalue that is a little too small, or another W."""
    setup = tiny.setup(network=tiny.TOPOLOGIES[topology], rounds=9)
    values, modes = np.linalg.eigh(setup.W)
    slowest = modes[:, np.argsort(np.abs(values))[-2]]
    agents = [cast("De2mfw", agent) for agent in setup.agents()]
    for agent, share in zip(agents, slowest, strict=True):
        agent.oracle = Constant(np.full(setup.feasible.shape, share))
    run = Recorded(setup, agents)
    for k, eta in enumerate(setup.steps[:-1], start=1):
        right = (1 - eta) * _spread(run.y(1, k)) + eta * _spread(run.v(1, k))
        assert _spread(run.y(1, k + 1)) == pytest.approx(_second_eigenvalue(setup) * right, abs=CLOSE)
        assert right > 0.1


def _spread(z: Real) -> float:
    """Return |z - mean z|, all agents' (n, C, m) concatenated."""
    return float(np.linalg.norm(z - z.mean(axis=0)))


DRAWS = 4000


def _drift(
    feasible: FeasibleSet, zeta: float, known: NDArray[np.float64], missing: NDArray[np.float64]
) -> tuple[float, float]:
    """Return |E v - E v^| over the noise, without and with the missing gradient, and its sampling error."""
    moved = np.empty((DRAWS, *feasible.shape))
    for draw in range(DRAWS):
        noise = FixedNoise(feasible.shape, seed=11, agent=draw)
        oracle = Ftpl(feasible, 1, zeta, noise, np.dtype(np.float64))
        oracle.feed(1, known)
        before = _dense(oracle.answer(1, 1), feasible)
        oracle.feed(1, missing)
        moved[draw] = _dense(oracle.answer(1, 1), feasible) - before
    error = float(np.sqrt(moved.var(axis=0).sum() / DRAWS))
    return float(np.linalg.norm(moved.mean(axis=0))), error


def _dense(v: Vertex, feasible: FeasibleSet) -> Real:
    return densify(v, feasible.shape) if isinstance(v, Atoms) else v


@pytest.mark.parametrize("name", ["l1_per_class", "l1_ball", "simplex", "box"])
def test_the_expected_vertex_drifts_no_further_than_lemma_2_says(name: str) -> None:
    feasible, zeta = make_set(name, (2, 3), 2.0), 0.5
    random = np.random.default_rng(4)
    missing = random.normal(0, 0.1, (2, 3))
    bound = feasible.diameter * min(1.0, zeta * float(np.abs(missing).sum()))
    drift, error = _drift(feasible, zeta, random.normal(0, 0.2, (2, 3)), missing)
    assert bound < feasible.diameter / 2
    assert 5 * error < drift <= bound + 4 * error


@pytest.mark.parametrize("shift", [0.1, 0.3])
def test_lemma_2_is_nearly_attained_by_two_equal_entries(shift: float) -> None:
    """A segment and a balanced leader: the vertex changes with probability shift - shift^2 / 2."""
    feasible, zeta = make_set("simplex", (1, 2), 3.0), 0.5
    drift, error = _drift(feasible, zeta, np.zeros((1, 2)), np.array([[shift / zeta, 0.0]]))
    assert drift == pytest.approx(feasible.diameter * (shift - shift**2 / 2), abs=4 * error)
    assert drift <= feasible.diameter * shift + 4 * error
