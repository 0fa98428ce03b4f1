from __future__ import annotations

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.schedule import (
    experiment_rate,
    experiment_steps,
    sub_iterations,
    theorem_rate,
    theorem_steps,
)


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
