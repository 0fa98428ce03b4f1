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


MEASURED = {  # regret of De2MFW, seeds 1 and 2, for d = 1 to 501 and without feedback
    ("cycle", "1/sqrt(T)"): [
        [325, 417, 511, 766, 1259, 1822, 3019, 3032, 4519],
        [324, 412, 517, 738, 1246, 1810, 2330, 2771, 4062],
    ],
    ("complete", "1/sqrt(T)"): [
        [258, 380, 478, 731, 1278, 1908, 2722, 2044, 2803],
        [252, 347, 451, 733, 1312, 1764, 2190, 2200, 2414],
    ],
    ("cycle", "1/sqrt(B)"): [
        [325, 447, 554, 795, 1347, 1850, 2276, 3165, 4519],
        [324, 446, 563, 756, 1202, 1674, 2176, 2789, 4062],
    ],
    ("complete", "1/sqrt(B)"): [
        [258, 384, 518, 695, 1207, 1715, 2124, 2293, 2803],
        [252, 355, 465, 709, 1228, 1803, 2096, 2217, 2414],
    ],
}


@pytest.mark.parametrize(
    ("graph", "rate", "holds", "words"),
    [
        ("cycle", "1/sqrt(T)", True, "local 0.57, 0.55, 0.61, 0.11;"),
        ("complete", "1/sqrt(T)", False, "local 0.63, 0.52;"),
        ("cycle", "1/sqrt(B)", True, "local 0.55, 0.48, 0.37, 0.40;"),
        ("complete", "1/sqrt(B)", False, "local 0.61, 0.54;"),
    ],
)
def test_measured_runs_of_de2mfw_get_the_verdict_that_is_documented(
    graph: str, rate: str, words: str, *, holds: bool
) -> None:
    found = Growth(B, np.array(MEASURED[graph, rate], dtype=np.float64))
    assert found.holds is holds
    assert words in found.evidence()
