"""Whether growth of regret is judged so that it can fail: real learners, laws, and measured curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import learners
import numpy as np
import pytest

from edgefw.delays.book import most_total_delay
from edgefw.experiments.growth import Growth
from edgefw.experiments.stats import log_slope

if TYPE_CHECKING:
    from collections.abc import Callable

    Law = Callable[[float], float]

DELAYS = (1, 5, 10, 20, 50, 101, 201, 501)
B = np.array([most_total_delay(d, 1000) for d in (*DELAYS, 1000)], dtype=np.float64)
BLIND = 2800.0


def follow(law: Law, *, seeds: int = 1) -> Growth:
    """Return the growth of law(d) without noise, the same with every seed, up to that of no feedback."""
    one = [min(law(d), BLIND) for d in DELAYS]
    return Growth(B, np.array([[*one, BLIND]] * seeds))


def test_a_learner_that_ignores_late_feedback_fails() -> None:
    found = learners.growth(learners.Deaf)
    assert log_slope(found.B, found.mean) < 0.5  # one slope over everything would have been met
    assert not found.holds
    assert found.evidence().startswith(
        "not shown: 0 of 7 delays lie between 2 times the regret without delay"
    )


def test_a_learner_whose_regret_is_linear_in_the_delay_fails() -> None:
    found = learners.growth(learners.Sleepy, knows_delay=False)
    assert log_slope(found.B, found.mean) < 0.5
    assert found.visible
    assert found.slope.low > 0.6
    assert not found.holds


def test_delmfw_passes() -> None:
    found = learners.growth()
    assert len(found.judged) == 4
    assert found.slope.high < 0.5
    assert found.holds


@pytest.mark.parametrize("factor", [4.0, 10.0, 60.0])
def test_a_linear_law_fails_whatever_its_factor(factor: float) -> None:
    assert not follow(lambda d: 260 + factor * (d - 1)).holds


@pytest.mark.parametrize("factor", [30.0, 60.0, 120.0])
def test_a_square_root_passes_whatever_its_factor(factor: float) -> None:
    found = follow(lambda d: 260 + factor * (d**0.5 - 1))
    assert found.visible
    assert found.holds


def test_delay_that_hardly_costs_anything_shows_nothing() -> None:
    assert follow(lambda d: 260 + 0.1 * d).evidence().startswith("not shown: 0 of 7")


def test_one_seed_that_grows_too_fast_is_enough_to_fail() -> None:
    fine = follow(lambda d: 200 * d**0.4, seeds=3)
    assert fine.holds
    fast = np.where(np.arange(len(B)) < len(B) - 1, fine.regret * (B / B[0]) ** 0.2, fine.regret)
    assert not Growth(B, np.vstack([fine.regret[:2], fast[:1]])).holds


def test_a_last_leap_fails_though_the_slope_over_all_is_small() -> None:
    found = follow(lambda d: 250 * d**0.3 * (1.35 if d > 200 else 1))
    assert found.slope.high < 0.5
    assert not found.holds


def test_what_comes_after_saturation_is_not_judged() -> None:
    found = Growth(B, np.array([[258, 400, 540, 731, 1278, 1908, 2722, 2044, 2801.0]]))
    assert found.judged.tolist() == [2, 3, 4, 5]  # 2044 is again below the limit, and too late


MEASURED = {  # regret on the complete graph, seed 1, d = 1, 20, 50, 101, 201 and none
    "1/sqrt(T)": ([258, 731, 1278, 1908, 2722, 2801], False),
    "1/sqrt(B)": ([258, 695, 1207, 1715, 2124, 2801], True),
}


@pytest.mark.parametrize("rate", MEASURED)
def test_de2mfw_gets_the_verdict_it_deserves(rate: str) -> None:
    regrets, holds = MEASURED[rate]
    found = Growth(B[[0, 3, 4, 5, 6, 8]], np.array([regrets], dtype=np.float64))
    assert found.holds is holds
    steps = {"1/sqrt(T)": [0.62, 0.59], "1/sqrt(B)": [0.61, 0.52, 0.34]}[rate]
    assert found.local[1 : 1 + len(steps)] == pytest.approx(steps, abs=0.01)
    assert f"local {', '.join(f'{step:.2f}' for step in steps)};" in found.evidence()
