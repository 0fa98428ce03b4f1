"""Frames as bytes are what the generated code would make of them, written and read."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from peer_nodes import message

from edgefw.core.messages import Frame
from edgefw.errors import WireError
from edgefw.transport.codec import decode_frame
from edgefw.transport.frames import (
    Received,
    _expect,
    _OtherwiseError,
    encode_frame,
    read_message,
    write_message,
)
from edgefw.v1 import peer_service_pb2 as pb

SHAPE = (3, 50)
entries = st.one_of(st.just(0.0), st.just(-0.0), st.floats(width=32, allow_nan=False, allow_infinity=False))
dense = arrays(np.float32, SHAPE, elements=entries)
sparse = arrays(np.float32, SHAPE, elements=entries, fill=st.just(0.0))
frames = st.builds(
    Frame,
    st.just(4),
    st.integers(1, 2**31),
    st.integers(1, 1000),
    st.one_of(dense, sparse),
    st.one_of(st.none(), dense),
)


def envelope(frame: Frame) -> bytes:
    return pb.ExchangeRequest(frame=message(frame)).SerializeToString()


def bits(frame: Frame) -> tuple[object, ...]:
    tracker = None if frame.tracker is None else frame.tracker.tobytes()
    return frame.agent, frame.t, frame.k, frame.iterate.shape, frame.iterate.tobytes(), tracker


@given(frames)
@settings(deadline=None)
def test_the_bytes_are_those_of_the_generated_code_and_come_back(frame: Frame) -> None:
    sent = encode_frame(frame)
    assert sent.data == envelope(frame) == write_message(sent)
    assert pb.ExchangeResponse.FromString(sent.data).frame == message(frame)
    assert sent.size == message(frame).ByteSize()
    came = Received(sent.data)
    assert (came.t, came.k, came.size) == (sent.t, sent.k, sent.size)
    assert bits(came.decode(4, SHAPE)) == bits(frame)


@given(frames)
@settings(deadline=None, max_examples=20)
def test_bytes_in_another_order_are_read_too(frame: Frame) -> None:
    whole = message(frame)
    numbers = pb.Frame(round=whole.round, step=whole.step)
    whole.ClearField("round")
    whole.ClearField("step")
    parts = (pb.ExchangeRequest(frame=part).SerializeToString() for part in (whole, numbers))
    came = Received(b"".join(parts))  # of one field that comes twice protobuf makes one message
    assert (came.t, came.k) == (frame.t, frame.k)
    assert bits(came.decode(4, SHAPE)) == bits(frame)


@given(frames, st.integers(0, 2000), st.integers(1, 255))
@settings(deadline=None)
def test_a_flipped_byte_is_read_as_the_generated_code_reads_it(frame: Frame, at: int, flip: int) -> None:
    data = bytearray(encode_frame(frame).data)
    data[1 + at % (len(data) - 1)] ^= flip
    assert outcome(bytes(data)) == reference(bytes(data))


@given(frames, st.integers(1, 2000))
@settings(deadline=None)
def test_bytes_that_were_cut_off_are_refused(frame: Frame, left: int) -> None:
    data = encode_frame(frame).data
    with pytest.raises(WireError, match="cannot be parsed"):
        Received(data[: left % len(data) or 1])


def outcome(data: bytes) -> object:
    try:
        return bits(Received(data).decode(4, SHAPE))
    except WireError as error:
        return error.reason


def reference(data: bytes) -> object:
    try:
        return bits(decode_frame(pb.ExchangeRequest.FromString(data).frame, 4, SHAPE))
    except WireError as error:
        return error.reason
    except DecodeError:
        return "content"


def test_what_is_no_frame_is_read_by_the_generated_code() -> None:
    hello = pb.ExchangeRequest(hello=pb.Hello(agent=3))
    assert write_message(hello) == hello.SerializeToString()
    assert read_message(pb.ExchangeRequest.FromString, write_message(hello)) == hello
    frame = encode_frame(Frame(0, 1, 1, np.zeros(SHAPE, np.float32), None))
    assert read_message(pb.ExchangeRequest.FromString, frame.data) is frame.data
    with pytest.raises(WireError, match="no frame"):
        Received(frame.data + hello.SerializeToString())


def test_a_number_without_an_end_is_not_read_to_its_end() -> None:
    """Each of its bytes would make all that come after it dearer: some megabytes would take minutes."""
    tag = 0x12
    longest = 2**32 - 1
    assert _expect(bytes([tag, *[0xFF] * 4, 0x0F]), 0, tag) == (6, longest)
    with pytest.raises(_OtherwiseError):
        _expect(bytes([tag, *[0xFF] * 4, 0x10]), 0, tag)
    with pytest.raises(WireError, match="cannot be parsed"):
        Received(bytes([tag]) + b"\xff" * 1000)
