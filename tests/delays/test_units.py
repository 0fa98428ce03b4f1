from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefw.delays.units import (
    LONGEST,
    as_written,
    format_duration,
    parse_duration,
    parse_rounds_or_time,
)

SECONDS = {
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("750ms", 0.75), ("2s", 2.0), ("1.5m", 90.0), ("2h", 7200.0), ("5us", 5e-6), (" .5 s ", 0.5), (0, 0.0)],
)
def test_durations_are_a_number_and_a_unit(text: object, seconds: float) -> None:
    assert parse_duration(text) == seconds


@given(st.integers(0, 10**9), st.integers(0, 6), st.sampled_from(list(SECONDS)))
def test_a_duration_is_the_float_nearest_to_what_is_written(digits: int, places: int, unit: str) -> None:
    value = Fraction(digits, 10**places)
    text = f"{digits // 10**places}.{digits % 10**places:0{places}d}" if places else str(digits)
    assert parse_duration(f"{text}{unit}") == float(value * SECONDS[unit])


@given(st.floats(0, LONGEST))
def test_a_formatted_duration_is_read_back_to_the_same_float(seconds: float) -> None:
    text = format_duration(seconds)
    assert re.fullmatch(r"\d+(\.\d+)?(ms|s)", text)
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (5, "5 has no unit: write a number and a unit, such as 750ms"),
        (1.5, "1.5 has no unit"),
        (float("nan"), "nan has no unit"),
        ("5", "'5' is not a duration: write a number and a unit"),
        ("soon", "'soon' is not a duration"),
        ("5 days", "'5 days' is not a duration"),
        ("1e3s", "'1e3s' is not a duration"),
        ("٣s", "is not a duration"),  # a digit, but not one that JSON's schema would take
        ("", "'' is not a duration"),
        (None, "null is not a duration"),
        (True, "true is not a duration"),
        (False, "false is not a duration"),
        ([1], "[1] is not a duration"),
        ("-1s", "'-1s' is negative: a duration is zero or more"),
        (f"{10**20}h", "is too long: a duration is at most 2^53 seconds"),
    ],
)
def test_what_is_no_duration_is_refused_with_how_to_write_one(wrong: object, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_duration(wrong)


def test_rounds_are_whole_numbers_and_times_are_floats() -> None:
    rounds, time = parse_rounds_or_time(200), parse_rounds_or_time("90s")
    assert (rounds, type(rounds)) == (200, int)
    for worded in ("200 rounds", "200rounds", " 200 round "):
        assert parse_rounds_or_time(worded) == 200
        assert isinstance(parse_rounds_or_time(worded), int)
    assert (time, type(time)) == (90.0, float)


@pytest.mark.parametrize("wrong", [True, 1.5, "soon", "200", None, [3], {}])
def test_what_is_neither_rounds_nor_a_time_is_refused_once(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"is neither a number of rounds \(200\) nor a time \(90s\)"):
        parse_rounds_or_time(wrong)


@pytest.mark.parametrize("wrong", [-1, 2**60])
def test_rounds_have_a_range(wrong: int) -> None:
    with pytest.raises(ValueError, match=f"{wrong} is not a number of rounds: write 0 or more"):
        parse_rounds_or_time(wrong)


def test_values_are_shown_as_a_file_has_them() -> None:
    assert [as_written(v) for v in (None, True, 1.5, "x", {"a": 1})] == [
        "null",
        "true",
        "1.5",
        "'x'",
        "a mapping",
    ]
    assert as_written(list(range(50))) == "a list of 50"
