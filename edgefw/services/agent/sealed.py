"""Words and arrays as bytes that say whether they are whole: what an agent keeps on disk is made of them.

    "edgefw"  version  length of the rest  its checksum | length of the head  head  arrays, one after another
       6         2             8                4       |         4

The head is JSON: the words, and name, type and shape of each array. Nothing is used before its checksum is
right. That is a CRC-32, which notices what disks and crashes do; a hash takes five times as long.
"""

from __future__ import annotations

import json
import math
import zlib
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgefw.errors import EdgefwError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

VERSION = 1
_MAGIC = b"edgefw"
_SEAL, _LENGTH = Struct("<6sHQI"), Struct("<I")


class DamagedError(EdgefwError):
    """Bytes are not what was written."""


class Sealed(NamedTuple):
    """What was sealed: plain words, and arrays, which are read-only."""

    words: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def seal(words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return words and arrays as bytes."""
    told = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    head = json.dumps({"words": dict(words), "arrays": told}).encode()
    contents = (np.ascontiguousarray(each).data for each in arrays.values())
    pieces: list[Any] = [_LENGTH.pack(len(head)), head, *contents]
    length, checksum = 0, 0
    for piece in pieces:
        length += memoryview(piece).nbytes
        checksum = zlib.crc32(piece, checksum)
    return b"".join([_SEAL.pack(_MAGIC, VERSION, length, checksum), *pieces])  # one copy of all


def unseal(data: bytes, at: int = 0) -> tuple[Sealed, int]:
    """Return what was sealed at a place, and where it ends; a DamagedError says what is wrong with it."""
    body, end = _body(data, at)
    try:
        (length,) = _LENGTH.unpack_from(body)
        head = json.loads(body[_LENGTH.size : _LENGTH.size + length])
        arrays, place = {}, _LENGTH.size + length
        for name, kind, shape in head["arrays"]:
            dtype, count = np.dtype(kind), math.prod(shape)
            arrays[name] = np.frombuffer(body, dtype, count, place).reshape(shape)
            place += dtype.itemsize * count
        return Sealed(head["words"], arrays), end
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"its checksum is right and its content is not: {error}") from None


def _body(data: bytes, at: int) -> tuple[bytes, int]:
    begin = at + _SEAL.size
    if len(data) < begin:
        raise DamagedError("it ends too early")
    magic, version, length, found = _SEAL.unpack_from(data, at)
    if magic != _MAGIC:
        raise DamagedError("it does not begin as it should")
    if version != VERSION:
        raise DamagedError(f"it has version {version}, this edgefw knows {VERSION}")
    if len(data) < begin + length:
        raise DamagedError("it ends too early")
    body = data[begin : begin + length]
    if zlib.crc32(body) != found:
        raise DamagedError("its checksum is wrong")
    return body, begin + length
