from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edgefw.core.messages import Feedback
from edgefw.errors import WireError
from edgefw.transport.codec import (
    decode_array,
    decode_feedback,
    decode_tensor,
    encode_array,
    encode_feedback,
    encode_tensor,
)
from edgefw.v1 import tensor_pb2

SHAPE = (3, 5)
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
entries = st.one_of(st.just(0.0), st.just(-0.0), finite)
points = arrays(np.float32, SHAPE, elements=entries)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.astype("<f4").tobytes() == b.astype("<f4").tobytes()


@given(points)
@settings(deadline=None)
def test_an_array_comes_back_bit_for_bit(x: np.ndarray) -> None:
    assert same_bits(decode_array(encode_array(x), SHAPE), x)
    assert same_bits(decode_tensor(encode_tensor(x), SHAPE), x)


def test_the_smaller_form_is_chosen() -> None:
    x = np.zeros((10, 784), dtype=np.float32)
    x[0, :800] = 1
    assert encode_array(x).WhichOneof("form") == "sparse"
    assert encode_array(np.ones_like(x)).WhichOneof("form") == "dense"
    assert encode_array(x).ByteSize() < encode_tensor(x).ByteSize() / 4


@given(arrays(np.float32, (2, 5), elements=finite), arrays(np.float32, (4, 3, 2), elements=finite))
@settings(deadline=None)
def test_a_feedback_comes_back(features: np.ndarray, residuals: np.ndarray) -> None:
    payload = encode_feedback(Feedback(9, features, residuals))
    back = decode_feedback(payload, round_=9, features=(2, 5), residuals=(4, 3, 2))
    assert back.round == 9
    assert same_bits(back.features, features)
    assert same_bits(back.residuals, residuals)


def dense(**changes: Any) -> tensor_pb2.Tensor:
    fields: dict[str, Any] = {"shape": SHAPE, "data": np.ones(15, "<f4").tobytes()}
    return tensor_pb2.Tensor(**(fields | changes))


def sparse(places: list[int], values: list[float], **changes: Any) -> tensor_pb2.Array:
    fields: dict[str, Any] = {
        "shape": SHAPE,
        "index": np.array(places, "<u4").tobytes(),
        "value": np.array(values, "<f4").tobytes(),
    }
    return tensor_pb2.Array(sparse=tensor_pb2.SparseTensor(**(fields | changes)))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (tensor_pb2.Array(dense=dense(shape=(5, 3))), "shape"),
        (tensor_pb2.Array(dense=dense(shape=())), "shape"),
        (tensor_pb2.Array(dense=dense(data=b"1234")), "length"),
        (tensor_pb2.Array(dense=dense(data=np.ones(16, "<f4").tobytes())), "length"),
        (tensor_pb2.Array(dense=dense(data=np.full(15, np.nan, "<f4").tobytes())), "not_finite"),
        (tensor_pb2.Array(dense=dense(data=np.full(15, np.inf, "<f4").tobytes())), "not_finite"),
        (tensor_pb2.Array(), "missing"),
        (sparse([1, 2], [1.0]), "length"),
        (sparse([1], [1.0], index=b"123"), "length"),
        (sparse([15], [1.0]), "position"),
        (sparse([2, 1], [1.0, 1.0]), "position"),
        (sparse([1, 1], [1.0, 1.0]), "position"),
        (sparse([1], [np.nan]), "not_finite"),
        (sparse([1], [1.0], shape=(15,)), "shape"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(message: tensor_pb2.Array, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_array(message, SHAPE)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\xff\xff\xff", "payload"),
        (b"", "round"),
        (encode_feedback(Feedback(8, np.ones((2, 5), "f4"), np.ones((4, 3, 2), "f4"))), "round"),
        (encode_feedback(Feedback(9, np.ones((2, 4), "f4"), np.ones((4, 3, 2), "f4"))), "shape"),
        (encode_feedback(Feedback(9, np.ones((2, 5), "f4"), np.ones((4, 2, 3), "f4"))), "shape"),
    ],
)
def test_a_feedback_that_cannot_be_used_is_refused(payload: bytes, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_feedback(payload, round_=9, features=(2, 5), residuals=(4, 3, 2))
    assert caught.value.reason == reason


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_no_bytes_break_the_decoder(payload: bytes) -> None:
    with pytest.raises(WireError):
        decode_feedback(payload, round_=9, features=(2, 5), residuals=(4, 3, 2))
