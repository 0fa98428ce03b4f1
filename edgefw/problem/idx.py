"""The idx format of the MNIST family: a magic number, the shape in big-endian, then unsigned bytes.

    00 00 08 d | shape[0] ... shape[d-1], 4 bytes each | prod(shape) bytes

08 says "unsigned byte", d is the number of dimensions. Files may be gzipped, whatever their name.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_GZIP_MAGIC = b"\x1f\x8b"
_UNSIGNED_BYTE = 0x08
_MOST_DIMENSIONS = 32  # a larger count is a damaged header, and numpy's own limit is near


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the array an idx file holds, gzipped or plain, read-only: a view of the file's content."""
    content = _content(path)
    shape = _shape(path, content)
    offset = 4 + 4 * len(shape)
    expected = offset + math.prod(shape)
    if len(content) > expected:
        raise DataError(f"{path} has trailing bytes: its header announces {expected} bytes and more follow")
    if len(content) < expected:
        raise DataError(
            f"{path} is truncated: its header announces {expected} bytes, it holds {len(content)}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=offset).reshape(shape)


def header(array: NDArray[np.uint8]) -> bytes:
    """Return the magic number and the shape of an array, as they stand in its file."""
    magic = bytes([0, 0, _UNSIGNED_BYTE, array.ndim])
    return magic + b"".join(size.to_bytes(4, "big") for size in array.shape)


def array_sha256(array: NDArray[np.uint8]) -> str:
    """Return the SHA-256 of the uncompressed idx file that holds `array`."""
    sha = hashlib.sha256(header(array))
    sha.update(np.ascontiguousarray(array).data)
    return sha.hexdigest()


def content_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's uncompressed content: the same for every way to compress it."""
    return hashlib.sha256(_content(path)).hexdigest()


def _shape(path: Path, content: bytes) -> tuple[int, ...]:
    """Return the shape in the header."""
    cut = f"{path} is truncated: its header is cut after {len(content)} bytes"
    if len(content) < 4:
        raise DataError(cut)
    zero, kind, dimensions = content[:2], content[2], content[3]
    if zero != b"\0\0" or kind != _UNSIGNED_BYTE or not 1 <= dimensions <= _MOST_DIMENSIONS:
        found = " ".join(f"{byte:02x}" for byte in content[:4])
        raise DataError(f"{path} is not an idx file of unsigned bytes: it starts with {found}, not 00 00 08")
    if len(content) < 4 + 4 * dimensions:
        raise DataError(cut)
    return tuple(int.from_bytes(content[4 * i : 4 * i + 4], "big") for i in range(1, dimensions + 1))


def _content(path: Path) -> bytes:
    """Return a file's uncompressed content."""
    try:
        content = path.read_bytes()
        gzipped = content[:2] == _GZIP_MAGIC
        if path.suffix == ".gz" and not gzipped:
            raise DataError(f"{path} is not a gzip file: fetch it again, or drop .gz if it is uncompressed")
        return gzip.decompress(content) if gzipped else content
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: check the folder and the file's name") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is a damaged gzip file ({error}): fetch it again") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
