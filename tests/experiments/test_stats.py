from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.experiments.published import TABLE_2, TABLE_2_CHANGE
from edgefw.experiments.report import signed
from edgefw.experiments.stats import local_slopes, log_slope, percent, spread, symmetric_percent

positive = st.floats(1e-3, 1e6)


@pytest.mark.parametrize(("graph", "f"), [(g, f) for g, row in TABLE_2_CHANGE.items() for f in row])
def test_symmetric_percent_is_what_the_paper_prints(graph: str, f: int) -> None:
    change = symmetric_percent(TABLE_2[graph][f], TABLE_2[graph][0])
    assert change == pytest.approx(TABLE_2_CHANGE[graph][f], abs=0.1)


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
