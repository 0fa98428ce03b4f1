"""Curves in bounded memory are what summing up the rounds themselves gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edgefw.page.curves import LAST, MOST, Curves

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLES = st.integers(1, 90).flatmap(
    lambda rounds: arrays(np.float64, (rounds, 2), elements=st.one_of(st.floats(-5, 5), st.just(np.nan)))
)
POINTS = st.integers(1, 8).map(lambda half: 2 * half)


def told(table: NDArray[np.float64], points: int) -> Curves:
    curves = Curves({"end": (LAST, 2), "most": (MOST, 2)}, points)
    for t, row in enumerate(table, start=1):
        curves.note("end", t, slice(None), float(t))
        for column, value in enumerate(row):
            curves.note("most", t, column, float(value))
    return curves


@settings(deadline=None, max_examples=200)
@given(TABLES, POINTS)
def test_a_point_sums_up_its_rounds(table: NDArray[np.float64], points: int) -> None:
    rounds, curves = len(table), told(table, points)
    ends = curves.rounds(rounds)
    assert len(ends) <= points
    assert ends[-1] == rounds
    assert curves.of("end", rounds)[:, 0].tolist() == ends.tolist()
    parts = np.split(table, ends[:-1])
    expected = np.array([np.fmax.reduce(part, axis=0) for part in parts])
    np.testing.assert_array_equal(curves.of("most", rounds), expected)


@settings(deadline=None, max_examples=100)
@given(TABLES, POINTS, st.integers(0, 89))
def test_whoever_takes_what_has_changed_has_all(table: NDArray[np.float64], points: int, before: int) -> None:
    curves = told(table[:before], points)
    mark, known = curves.version, curves.of("most", min(before, len(table))).copy()
    for t, row in enumerate(table[before:], start=before + 1):
        curves.note("most", t, slice(None), row)
    first = curves.first_changed(mark)
    now = curves.of("most", len(table))
    np.testing.assert_array_equal(np.concatenate([known[:first], now[first:]]), now)


def test_at_least_half_of_the_points_are_used_however_long_a_run_is() -> None:
    curves = Curves({"most": (MOST, 1)}, 100)
    for t in range(1, 5001):
        curves.note("most", t, 0, 1.0)
        assert curves.count(t) > 50 or t <= 50
