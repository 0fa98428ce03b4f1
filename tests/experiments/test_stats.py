from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from edgefw.experiments.experiment import signed
from edgefw.experiments.published import TOTALS_2, TOTALS_2_CHANGE
from edgefw.experiments.stats import (
    interval,
    local_slopes,
    log_slope,
    paired,
    percent,
    spread,
    student_t,
    symmetric_percent,
)

if TYPE_CHECKING:
    from random import Random

positive = st.floats(1e-3, 1e6)


@pytest.mark.parametrize(("graph", "f"), [(g, f) for g, row in TOTALS_2_CHANGE.items() for f in row])
def test_symmetric_percent_is_what_the_paper_prints(graph: str, f: int) -> None:
    change = symmetric_percent(TOTALS_2[graph][f], TOTALS_2[graph][0])
    assert change == pytest.approx(TOTALS_2_CHANGE[graph][f], abs=0.1)


def test_the_plain_percent_is_not_the_symmetric_one() -> None:
    assert percent(1119.24, 925.72) == pytest.approx(20.905, abs=1e-3)
    assert symmetric_percent(1119.24, 925.72) == pytest.approx(18.926, abs=1e-3)


@given(positive, positive)
@settings(deadline=None, max_examples=50)
def test_symmetric_percent_changes_sign_with_its_arguments(a: float, b: float) -> None:
    assert symmetric_percent(a, b) == pytest.approx(-symmetric_percent(b, a))
    assert abs(symmetric_percent(a, b)) <= 200


@given(st.floats(-2, 2), positive, st.lists(st.floats(1, 1e5), min_size=2, max_size=8, unique_by=round))
@settings(deadline=None, max_examples=50)
def test_a_power_law_has_its_exponent_as_slope(exponent: float, factor: float, x: list[float]) -> None:
    y = [factor * value**exponent for value in x]
    assert log_slope(x, y) == pytest.approx(exponent, abs=1e-6)
    assert local_slopes(x, y) == pytest.approx([exponent] * (len(x) - 1), abs=1e-6)


def test_log_slope_is_the_least_squares_line() -> None:
    x, y = [math.e**0, math.e**1, math.e**2], [math.e**0, math.e**3, math.e**2]
    assert log_slope(x, y) == pytest.approx(1.0)


def test_spread_of_one_seed_is_zero_and_of_three_the_sample_deviation() -> None:
    assert spread([5.0]).sd == 0
    assert spread([2.0, 4.0, 9.0]).sd == pytest.approx(math.sqrt(13))
    assert (spread([2.0, 4.0, 9.0]).low, spread([2.0, 4.0, 9.0]).high) == (2, 9)


def test_spread_is_printed_with_two_digits_of_deviation() -> None:
    assert str(spread([800.0, 810.0])) == "805.0 ± 7.1"
    assert str(spread([800.0, 900.0])) == "850.0 ± 71"
    assert str(spread([800.0])) == "800.0"


def test_small_negative_changes_are_not_printed_as_minus_zero() -> None:
    assert signed(-0.01) == "+0.0"


@pytest.mark.parametrize("freedom", [*range(1, 41), 99, 200, 1001])
def test_students_t_is_that_of_the_tables(freedom: int) -> None:
    assert student_t(freedom) == pytest.approx(reference.t.ppf(0.975, freedom), rel=1e-9)


values = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12)


@given(values)
@settings(deadline=None, max_examples=100)
def test_an_interval_is_that_of_a_mean_by_students_t(sample: list[float]) -> None:
    found = interval(sample)
    error = reference.sem(sample)
    half = reference.t.ppf(0.975, len(sample) - 1) * error
    assert found.mean == pytest.approx(sum(sample) / len(sample), abs=1e-9)
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half), abs=1e-6)
    assert found.apart == (found.low > 0 or found.high < 0)


def test_an_interval_has_the_mean_in_it_in_95_of_100_cases() -> None:
    random = np.random.default_rng(1)
    hits = [interval(list(row)) for row in random.normal(3.0, 2.0, (2000, 5))]
    assert np.mean([found.low <= 3.0 <= found.high for found in hits]) == pytest.approx(0.95, abs=0.015)


def test_one_value_has_no_interval() -> None:
    found = interval([4.0])
    assert (found.mean, math.isnan(found.low), math.isnan(found.high), found.apart) == (
        4.0,
        True,
        True,
        False,
    )


@given(
    st.dictionaries(st.integers(0, 99), st.floats(-1e3, 1e3), min_size=1), st.floats(-10, 10), st.randoms()
)
@settings(deadline=None, max_examples=100)
def test_pairs_are_found_by_their_seed_whatever_the_order(
    effects: dict[int, float], apart: float, random: Random
) -> None:
    order = list(effects)
    random.shuffle(order)
    shifted = {seed: effects[seed] + apart for seed in order}
    assert paired(shifted, effects) == pytest.approx([apart] * len(effects), abs=1e-9)


def test_what_has_no_partner_is_refused() -> None:
    with pytest.raises(ValueError, match=r"seeds \[1, 2\] cannot be paired with seeds \[2, 3\]"):
        paired({1: 0.0, 2: 0.0}, {2: 0.0, 3: 0.0})
