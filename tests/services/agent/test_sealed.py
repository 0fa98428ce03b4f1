"""What an agent keeps on disk: whole, or known not to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.services.agent.sealed import DamagedError, seal, unseal

WORDS = {"sweep": 7, "dropped": [3, 5]}
ARRAYS: dict[str, Any] = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "none": np.zeros((0, 2), dtype=np.int64),
    "count": np.array(4),
    "turned": np.arange(6.0).reshape(2, 3).T,
}


def test_what_is_sealed_comes_back_bit_for_bit_one_after_the_other() -> None:
    data = seal(WORDS, ARRAYS) + seal({}, {})
    first, at = unseal(data)
    assert first.words == WORDS
    for name, array in ARRAYS.items():
        assert first.arrays[name].dtype == array.dtype
        assert first.arrays[name].tobytes() == array.tobytes()
        assert first.arrays[name].shape == array.shape
    second, end = unseal(data, at)
    assert (second.words, second.arrays, end) == ({}, {}, len(data))


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_any_byte_that_is_wrong_or_missing_is_noticed(data: st.DataObject) -> None:
    sealed = seal(WORDS, ARRAYS)
    at = data.draw(st.integers(0, len(sealed) - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DamagedError):
        unseal(sealed[:at] + bytes([sealed[at] ^ bit]) + sealed[at + 1 :])
    with pytest.raises(DamagedError):
        unseal(sealed[:at])


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_bytes_of_something_else_are_no_surprise(data: bytes) -> None:
    with pytest.raises(DamagedError):
        unseal(data)


def test_another_version_is_named() -> None:
    sealed = bytearray(seal(WORDS, ARRAYS))
    sealed[6] = 9
    with pytest.raises(DamagedError, match="it has version 9, this edgefw knows 1"):
        unseal(bytes(sealed))
