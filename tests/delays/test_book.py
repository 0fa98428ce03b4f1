from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays.book import ArrivalBook, total_delay, unused
from edgefw.delays.units import NEVER
from edgefw.errors import InputError

Table = np.ndarray[Any, np.dtype[np.int64]]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n, T = draw(st.integers(1, 5)), draw(st.integers(1, 15))
    delay = st.one_of(st.integers(1, 20), st.just(NEVER))
    rows = draw(st.lists(st.lists(delay, min_size=T, max_size=T), min_size=n, max_size=n))
    return np.array(rows, dtype=np.int64)


@settings(deadline=None, max_examples=150)
@given(tables())
def test_feedback_arrives_once_if_it_comes_by_the_end_and_else_never(table: Table) -> None:
    n, T = table.shape
    book = ArrivalBook(table)
    found = [(i, s, t) for t in range(1, T + 1) for i, rounds in book.at(t).items() for s in rounds]
    expected = {
        (i, s, s + int(table[i, s - 1]) - 1)
        for i in range(n)
        for s in range(1, T + 1)
        if s + int(table[i, s - 1]) - 1 <= T
    }
    assert len(found) == len(expected)
    assert set(found) == expected
    used = [s for _, s, t in found if t < T]
    assert unused(table).sum() == n * (T - 1) - len(used)


@settings(deadline=None, max_examples=60)
@given(tables())
def test_agents_and_rounds_come_sorted(table: Table) -> None:
    book = ArrivalBook(table)
    for t in range(1, book.T + 1):
        here = book.at(t)
        assert list(here) == sorted(here)
        assert all(rounds and list(rounds) == sorted(rounds) for rounds in here.values())
        assert all(type(i) is int and type(rounds[0]) is int for i, rounds in here.items())


@settings(deadline=None, max_examples=60)
@given(tables())
def test_the_total_delay_is_between_none_and_everything_late(table: Table) -> None:
    T = table.shape[1]
    B = total_delay(table)
    assert B.dtype == np.int64
    assert ((B >= T) & (B <= T * (T + 1) // 2)).all()
    by_hand = [
        sum(min(int(delay), T - s + 1) for s, delay in enumerate(row, start=1)) for row in table.tolist()
    ]
    assert B.tolist() == by_hand


def test_the_total_delay_without_delay_is_the_horizon() -> None:
    assert total_delay(np.ones((3, 50), dtype=np.int64)).tolist() == [50, 50, 50]
    assert total_delay(np.full((1, 50), NEVER)).tolist() == [50 * 51 // 2]


def test_unused_is_what_led_to_no_play() -> None:
    table = np.array([[1, 1, 1], [3, 3, 3], [NEVER, 1, NEVER]])
    assert unused(table).tolist() == [0, 2, 1]


def test_rounds_outside_the_run_and_delays_below_one_are_refused() -> None:
    book = ArrivalBook(np.ones((2, 3), dtype=np.int64))
    assert (book.n, book.T) == (2, 3)
    for t in (0, 4):
        with pytest.raises(IndexError, match=r"not one of 1\.\.3"):
            book.at(t)
    for wrong in (np.array([[1, 0]]), np.array([1, 1])):
        with pytest.raises(InputError, match="no delay below 1"):
            ArrivalBook(wrong)
