"""Frames as bytes: the protobuf encoding of `Frame`, written and read without the generated classes.

What it buys, for a frame of 36 kB: generated classes copy every array into a message, the message into its
envelope, and that into bytes, once for each neighbour, and again on the way back. Here an array is copied
once into the bytes that all neighbours get, and once out of those that came. Both envelopes of a frame,
ExchangeRequest and ExchangeResponse, have the same encoding.

The bytes are those that the generated code writes (tests hold them equal). What was written in another way,
which protobuf allows, is read by the generated code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
from google.protobuf.message import DecodeError

from edgefw.core.messages import Frame
from edgefw.errors import WireError
from edgefw.transport.codec import FLOAT, PLACE, decode_frame, finite, scattered, sparse_places
from edgefw.v1 import peer_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgefw.problem.feasible.base import Real

    Piece = bytes | NDArray[Any]

# The tags of fields, number * 8 + 2 (a length and so many bytes) or + 0 (a number): see protos/.
_FRAME = 0x12  # of an envelope
_ROUND, _STEP, _ITERATE, _TRACKER = 0x08, 0x10, 0x1A, 0x22  # of a frame
_DENSE, _SPARSE = 0x0A, 0x12  # of an array
_SHAPE, _DATA = 0x0A, 0x12  # of a tensor; of a sparse one: shape, and
_INDEX, _VALUE = 0x12, 0x1A
_ITERATES, _TRACKERS = (_ITERATE, _DENSE), (_TRACKER,)  # the fields around a dense one
_LONGEST = 28  # bits of a number before its last byte
_LARGEST = 2**32 - 1  # protobuf cuts off what is larger


@dataclass(eq=False, slots=True, weakref_slot=True)
class WireFrame:
    """A frame (t, k) on its way: an envelope's bytes, the last `size` of which are the frame."""

    t: int
    k: int
    data: bytes
    size: int
    read: Received | None = None  # what they say, once a neighbour in this process has read them


_WRITTEN: WeakValueDictionary[int, WireFrame] = WeakValueDictionary()  # here, by the identity of their bytes


def encode_frame(frame: Frame) -> WireFrame:
    """Return a frame as bytes: the iterate in its smaller form, an empty tracker left out."""
    numbers = _number(_ROUND, frame.t) + _number(_STEP, frame.k)
    pieces, size = _iterate(frame.iterate)
    if frame.tracker is not None:
        head = _dense_head(_TRACKERS, frame.tracker.shape)
        data = np.ascontiguousarray(frame.tracker, FLOAT)
        pieces += head, data
        size += len(head) + data.nbytes
    size += len(numbers)
    joined: Any = [_head(_FRAME, size), numbers, *pieces]
    written = WireFrame(frame.t, frame.k, b"".join(joined), size)
    _WRITTEN[id(written.data)] = written
    return written


def received(data: bytes) -> Received:
    """Return a frame that came.

    Over memory, all neighbours get the very bytes that were written: the first reads them for all. It halves
    the time that reading takes on a ring, and the memory that it goes through.
    """
    written = _WRITTEN.get(id(data))
    if written is None or written.data is not data:
        return Received(data)
    if written.read is None:
        written.read = Received(data)
    return written.read


def write_message(message: Any) -> bytes:
    """Return the bytes of a message of an Exchange; a frame has them already."""
    if isinstance(message, WireFrame):
        return message.data
    data: bytes = message.SerializeToString()
    return data


def read_message(read: Callable[[bytes], Any], data: bytes) -> Any:
    """Return a message of an Exchange: a frame stays bytes until its link looks into it."""
    return data if data[:1] == _BEGIN else read(data)


_BEGIN = bytes([_FRAME])


class Received:
    """A frame that came: its number (t, k) at once, its arrays when they are asked for."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._message: pb.Frame | None = None
        self._frame: Frame | None = None  # as it was decoded, for the next who asks
        try:
            at, self.size = _expect(data, 0, _FRAME)
            _end_at(at + self.size, len(data))
            at, self.t = _expect(data, at, _ROUND)
            self._at, self.k = _expect(data, at, _STEP)
        except _OtherwiseError:
            self._take_generated()

    def _take_generated(self) -> None:
        try:
            envelope = pb.ExchangeRequest.FromString(self._data)
        except DecodeError:
            raise WireError("content", "a frame cannot be parsed") from None
        if envelope.WhichOneof("content") != "frame":
            raise WireError("content", "a message after the Hello is no frame")
        message = self._message = envelope.frame
        self.t, self.k, self.size = message.round, message.step, message.ByteSize()

    def decode(self, agent: int, shape: tuple[int, int]) -> Frame:
        """Return the frame that `agent` sent, its arrays of `shape` (C, m), checked; they are read-only."""
        known = self._frame
        if known is not None and known.agent == agent and known.iterate.shape == shape:
            return known
        self._frame = self._decode(agent, shape)
        return self._frame

    def _decode(self, agent: int, shape: tuple[int, int]) -> Frame:
        if self._message is None:
            try:
                return Frame(agent, self.t, self.k, *self._arrays(shape))
            except _OtherwiseError:
                self._take_generated()
        assert self._message is not None  # noqa: S101 - it was taken, here or before
        return decode_frame(self._message, agent, shape)

    def _arrays(self, shape: tuple[int, int]) -> tuple[Real, Real | None]:
        data, at = self._data, self._at
        head = _dense_head(_ITERATES, shape)
        if data.startswith(head, at):
            iterate, at = _read_dense(data, at + len(head), shape)
        else:
            iterate, at = _read_sparse(data, at, shape)
        if at == len(data):
            return iterate, None
        head = _dense_head(_TRACKERS, shape)
        if not data.startswith(head, at):
            raise _OtherwiseError
        tracker, at = _read_dense(data, at + len(head), shape)
        _end_at(at, len(data))
        return iterate, tracker


class _OtherwiseError(Exception):
    """The bytes are not those that we write; they may still be a frame."""


# --- writing: a message is a list of pieces, joined once


def _number(tag: int, value: int) -> bytes:
    """Return a field that is a number; 0 is left out."""
    return _head(tag, value) if value else b""


@lru_cache(4096)
def _head(tag: int, value: int) -> bytes:
    """Return a tag and a number, or the length of what follows: seven bits a byte, the lowest first.

    >>> _head(0x12, 300).hex()
    '12ac02'
    """
    out = [tag]
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@lru_cache(64)
def _shape(shape: tuple[int, ...]) -> bytes:
    packed = b"".join(_head(0, size)[1:] for size in shape)
    return _head(_SHAPE, len(packed)) + packed


@lru_cache(64)
def _dense_head(tags: tuple[int, ...], shape: tuple[int, ...]) -> bytes:
    """Return all that comes before the data of a dense array, which stands in fields with these tags."""
    size = FLOAT.itemsize * math.prod(shape)
    head = _shape(shape) + _head(_DATA, size)
    for tag in reversed(tags):
        head = _head(tag, len(head) + size) + head
    return head


def _iterate(x: Real) -> tuple[list[Piece], int]:
    """Return the field of an iterate, and its length."""
    flat = np.ascontiguousarray(x, dtype=FLOAT).reshape(-1)
    places = sparse_places(flat)
    if places is None:
        head = _dense_head(_ITERATES, x.shape)
        return [head, flat], len(head) + flat.nbytes
    shape, size = _shape(x.shape), PLACE.itemsize * len(places)
    entries: list[Piece] = []
    inner = len(shape)
    if size:  # an empty field is left out
        index, value = _head(_INDEX, size), _head(_VALUE, size)
        entries = [index, places.astype(PLACE), value, flat[places]]
        inner += len(index) + len(value) + 2 * size
    sparse = _head(_SPARSE, inner)
    outer = _head(_ITERATE, len(sparse) + inner)
    return [outer + sparse + shape, *entries], len(outer) + len(sparse) + inner


# --- reading: from one expected field to the next


def _expect(data: bytes, at: int, tag: int) -> tuple[int, int]:
    """Return where a field with this tag goes on after its number, and the number."""
    value = shift = 0
    try:
        if data[at] != tag:
            raise _OtherwiseError
        while (byte := data[at := at + 1]) > 0x7F:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > _LONGEST:  # or a message full of them would be one number, and take minutes to read
                raise _OtherwiseError
    except IndexError:
        raise _OtherwiseError from None
    if (value := value | byte << shift) > _LARGEST:
        raise _OtherwiseError
    return at + 1, value


def _end_at(found: int, end: int) -> None:
    if found != end:
        raise _OtherwiseError


def _read_sparse(data: bytes, at: int, shape: tuple[int, int]) -> tuple[Real, int]:
    """Return an iterate that is sparse, and where it ends."""
    known = _shape(shape)
    at, length = _expect(data, at, _ITERATE)
    end = at + length
    at, length = _expect(data, at, _SPARSE)
    _end_at(at + length, end)
    if not data.startswith(known, at):
        raise _OtherwiseError
    at += len(known)
    if at == end:
        return _nothing(shape), end
    at, length = _expect(data, at, _INDEX)
    values, size = _expect(data, at + length, _VALUE)
    _end_at(values + size, end)
    if length != size or size % FLOAT.itemsize or end > len(data):
        raise _OtherwiseError
    count = size // FLOAT.itemsize
    places = np.frombuffer(data, PLACE, count, at).astype(np.intp)
    return scattered(places, finite(np.frombuffer(data, FLOAT, count, values)), shape), end


@lru_cache(16)
def _nothing(shape: tuple[int, int]) -> Real:
    """Return zeros, which every sweep starts with."""
    zeros = np.zeros(shape, FLOAT)
    zeros.flags.writeable = False
    return zeros


def _read_dense(data: bytes, at: int, shape: tuple[int, int]) -> tuple[Real, int]:
    """Return the array whose data begins there, and where it ends.

    It is copied, for its place in the bytes is rarely one on which numpy computes without copying each time.
    """
    count = math.prod(shape)
    end = at + FLOAT.itemsize * count
    if end > len(data):
        raise _OtherwiseError
    values = finite(np.frombuffer(data, FLOAT, count, at).copy()).reshape(shape)
    values.flags.writeable = False  # it is for all who read these bytes
    return values, end
