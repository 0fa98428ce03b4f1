from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.problem.seeding import LARGEST_SEED, rng

PARTS = st.integers(0, 2**32 - 1) | st.text(max_size=5)
KEYS = st.lists(PARTS, max_size=4).map(tuple)


def words(seed: int, *key: int | str) -> list[int]:
    return [int(word) for word in rng(seed, *key).integers(2**63, size=4)]


def test_first_values_never_change() -> None:
    assert rng(7).random(2).tolist() == [0.625095466604667, 0.8972138009695755]
    assert rng(7, "stream", 3).random(2).tolist() == [0.7071046018630658, 0.9328584249150523]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, LARGEST_SEED), KEYS, KEYS)
def test_streams_are_equal_exactly_where_their_keys_are(
    seed: int, one: tuple[int | str, ...], two: tuple[int | str, ...]
) -> None:
    assert (words(seed, *one) == words(seed, *two)) == (one == two)


def test_a_word_is_not_its_number() -> None:
    assert words(7, "3") != words(7, 3)
    assert words(7, "ab") != words(7, "a", "b")
    assert words(7, 0) != words(7)


def test_numpy_integers_are_as_good() -> None:
    assert words(7, np.int64(3)) == words(7, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, LARGEST_SEED + 1])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(InputError, match=f"seed {seed} is out of range: use a number from 0 to"):
        rng(seed)


@pytest.mark.parametrize("part", [-1, 2**32])
def test_a_key_out_of_range_is_refused(part: int) -> None:
    with pytest.raises(InputError, match=f"key {part} is out of range"):
        rng(0, part)
