from __future__ import annotations

import pickle

import pytest

from edgefw.errors import DataError, EdgefwError, InputError, unknown


def test_wrong_input_exits_with_two_and_failures_with_one() -> None:
    assert (EdgefwError("x").exit_code, InputError("x").exit_code, DataError("x").exit_code) == (1, 2, 2)


def test_an_unknown_name_is_answered_with_the_nearest_and_all() -> None:
    assert str(unknown("clock", "round", ["wall", "rounds"])) == (
        "unknown clock 'round': did you mean 'rounds'? (valid: wall, rounds)"
    )
    assert str(unknown("clock", "xyz", ["wall", "rounds"])) == "unknown clock 'xyz': valid: wall, rounds"
    assert isinstance(unknown("clock", "xyz", {"wall": 1}), InputError)


@pytest.mark.parametrize("kind", [EdgefwError, InputError, DataError])
def test_errors_travel_between_processes(kind: type[EdgefwError]) -> None:
    again = pickle.loads(pickle.dumps(kind("what went wrong")))  # noqa: S301 - our own bytes
    assert type(again) is kind
    assert str(again) == "what went wrong"
