from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.schedule import (
    experiment_rate,
    experiment_steps,
    regret_bound_centralized,
    regret_bound_distributed,
    sub_iterations,
    theorem_rate,
    theorem_steps,
)
from edgefw.problem.graph import k0, second_eigenvalue


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 10**9))
def test_K_is_the_root_of_the_horizon_rounded_up(T: int) -> None:  # noqa: N802 - the paper's name
    K = sub_iterations(T)
    assert (K - 1) ** 2 < T <= K**2


@pytest.mark.parametrize(
    ("T", "K"), [(0, 0), (1, 1), (2, 2), (4, 2), (5, 3), (900, 30), (961, 31), (1000, 32)]
)
def test_K_of_some_horizons(T: int, K: int) -> None:  # noqa: N802
    assert sub_iterations(T) == K


def test_the_steps_of_the_experiments() -> None:
    np.testing.assert_allclose(experiment_steps(5), [1 / 4, 1 / 5, 1 / 6, 1 / 7, 1 / 8], rtol=1e-15)


@pytest.mark.parametrize(
    ("G", "distributed", "A"),
    [(1.0, False, 3.0), (1.0, True, 3.0), (8.0, False, 4.0), (8.0, True, 6.0)],
    ids=["3", "3 distributed", "G/(beta D)", "3G/(2 beta D)"],
)
def test_the_steps_of_the_theorems(G: float, distributed: bool, A: float) -> None:  # noqa: FBT001
    steps = theorem_steps(8, G=G, beta=0.5, D=4.0, distributed=distributed)
    np.testing.assert_allclose(steps, [min(1, A / k) for k in range(1, 9)], rtol=1e-15)


def test_rates() -> None:
    assert experiment_rate(100) == pytest.approx(0.1)
    assert experiment_rate(100, max_delay=25) == pytest.approx(0.02)
    assert theorem_rate(G=2.0, B=25.0) == pytest.approx(0.1)


@dataclass(frozen=True)
class _Constants:
    G: float = 2.0
    beta: float = 1.0
    D: float = 3.0
    T: int = 16
    B: float = 25.0
    dim: int = 4


def test_the_bounds_are_the_theorems_formulas() -> None:
    c = _Constants()
    A, root_T, root_B = 3.0, 4.0, 5.0
    zeta = 1 / (c.G * root_B)
    ftpl = zeta * c.D * c.G**2 * c.T + math.sqrt(c.dim) * c.D / zeta
    lone = 2 * c.beta * A * c.D**2 * root_T + 3 * (A + 1) * (c.D * c.G * root_B + ftpl)
    assert regret_bound_centralized(**vars(c)) == pytest.approx(lone)
    n, eigenvalue, k_0 = 9, 0.5, 2
    C_d = k_0 * math.sqrt(n) * c.D
    drift = 2 * math.sqrt(n) * c.D * c.G * (0.5 / 0.5 + 1) * root_B
    networked = (c.G * C_d + 2 * c.beta * A * c.D**2) * root_T + 3 * (A + 1) * (drift + ftpl)
    bound = regret_bound_distributed(**vars(c), n=n, eigenvalue=eigenvalue, k0=k_0)
    assert bound == pytest.approx(networked)


@pytest.mark.parametrize("topology", tiny.TOPOLOGIES)
def test_the_bounds_of_a_setup_are_positive_and_finite(topology: str) -> None:
    setup = tiny.setup(network=tiny.TOPOLOGIES[topology], delays=tiny.DELAYS["uniform"])
    G, beta = setup.constants
    D, T, B = setup.feasible.diameter, setup.rounds, float(setup.total_delay.mean())
    dim, eigenvalue = setup.feasible.size, second_eigenvalue(setup.W)
    lone = regret_bound_centralized(G=G, beta=beta, D=D, T=T, B=B, dim=dim)
    networked = regret_bound_distributed(
        G=G, beta=beta, D=D, T=T, B=B, dim=dim, n=setup.n, eigenvalue=eigenvalue, k0=k0(setup.W)
    )
    assert 0 < lone < networked < math.inf


def test_a_setup_takes_its_schedule_and_rate_from_here() -> None:
    experiment = tiny.setup(rounds=26, algorithm={"rate": None}, delays=tiny.DELAYS["constant"])
    assert np.array_equal(experiment.steps, experiment_steps(6))
    assert experiment.zeta == experiment_rate(26)
    theorem = tiny.setup(
        rounds=26, algorithm={"rate": None, "schedule": "theorem"}, delays=tiny.DELAYS["constant"]
    )
    G, beta = theorem.constants
    expected = theorem_steps(6, G=G, beta=beta, D=theorem.feasible.diameter, distributed=True)
    assert np.array_equal(theorem.steps, expected)
    assert theorem.zeta == theorem_rate(G=G, B=23 * 4 + 3 + 2 + 1)  # the last three come after the end
    lone = tiny.setup(
        agents=1, rounds=26, algorithm={"name": "delmfw", "rate": None}, delays=tiny.DELAYS["constant"]
    )
    assert lone.zeta == experiment_rate(26, max_delay=4)
    assert tiny.setup(algorithm={"rate": 0.25, "sub_iterations": 3}).zeta == 0.25
    assert len(tiny.setup(algorithm={"sub_iterations": 3}).steps) == 3
