"""The idx format of the MNIST family: a magic number, the shape in big-endian, then unsigned bytes.

    00 00 08 d | shape[0] ... shape[d-1], 4 bytes each | prod(shape) bytes

08 says "unsigned byte", d is the number of dimensions. Files may be gzipped, whatever their name.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from edgefw.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_GZIP_MAGIC = b"\x1f\x8b"
_UNSIGNED_BYTE = 0x08
_MOST_DIMENSIONS = 32  # a larger count is a damaged header, and numpy's own limit is near
_CHUNK = 1 << 20


def read_idx(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Return the array an idx file holds, gzipped or plain.

    The bytes are collected as they come and the array is a view of them: memory stays near the size of the
    array, and a damaged header cannot ask for more than the file holds.
    """
    path = Path(path)
    content = bytearray()
    shape, expected = None, 0
    for chunk in _content(path):
        content += chunk
        if shape is None and (shape := _shape(path, content)) is not None:
            expected = _header_size(shape) + math.prod(shape)
        if shape is not None and len(content) > expected:
            raise DataError(
                f"{path} has trailing bytes: its header announces {expected} bytes and more follow"
            )
    if shape is None:
        raise DataError(f"{path} is truncated: its header is cut after {len(content)} bytes")
    if len(content) < expected:
        raise DataError(
            f"{path} is truncated: its header announces {expected} bytes, it holds {len(content)}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=_header_size(shape)).reshape(shape)


def write_idx(path: str | os.PathLike[str], array: NDArray[np.uint8]) -> None:
    """Write `array` as an idx file, gzipped if the name ends in .gz; the same array gives the same bytes.

    The file appears under its name only when it is complete.
    """
    path = Path(path)
    header = _header(array)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("xb") as raw:
            if path.suffix == ".gz":
                # no name and no time in the gzip header, so that only the content decides
                with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                    _write(cast("IO[bytes]", packed), header, array)
            else:
                _write(raw, header, array)
        partial.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def array_sha256(array: NDArray[np.uint8]) -> str:
    """Return the SHA-256 of the uncompressed idx file that holds `array`."""
    sha = hashlib.sha256(_header(array))
    sha.update(np.ascontiguousarray(array).data)
    return sha.hexdigest()


def content_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's uncompressed content: the same for every way to compress it."""
    sha = hashlib.sha256()
    for chunk in _content(Path(path)):
        sha.update(chunk)
    return sha.hexdigest()


def _write(file: IO[bytes], header: bytes, array: NDArray[np.uint8]) -> None:
    file.write(header)
    file.write(np.ascontiguousarray(array).data)


def _header(array: NDArray[np.uint8]) -> bytes:
    """Return the magic number and the shape, as they stand in the file."""
    if array.dtype != np.uint8 or not 1 <= array.ndim <= _MOST_DIMENSIONS:
        raise DataError(
            f"an idx file cannot hold {array.dtype} values in {array.ndim} dimensions: "
            f"give uint8 in 1 to {_MOST_DIMENSIONS}"
        )
    magic = bytes([0, 0, _UNSIGNED_BYTE, array.ndim])
    return magic + b"".join(size.to_bytes(4, "big") for size in array.shape)


def _header_size(shape: tuple[int, ...]) -> int:
    return 4 + 4 * len(shape)


def _shape(path: Path, content: bytearray) -> tuple[int, ...] | None:
    """Return the shape in the header, or None while the header is incomplete."""
    if len(content) < 4:
        return None
    zero, kind, dimensions = content[:2], content[2], content[3]
    if zero != b"\0\0" or kind != _UNSIGNED_BYTE or not 1 <= dimensions <= _MOST_DIMENSIONS:
        found = " ".join(f"{byte:02x}" for byte in content[:4])
        raise DataError(f"{path} is not an idx file of unsigned bytes: it starts with {found}, not 00 00 08")
    if len(content) < 4 + 4 * dimensions:
        return None
    return tuple(int.from_bytes(content[4 * i : 4 * i + 4], "big") for i in range(1, dimensions + 1))


def _content(path: Path) -> Iterator[bytes]:
    """Yield a file's uncompressed content in pieces."""
    try:
        with path.open("rb") as raw:
            gzipped = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            if path.suffix == ".gz" and not gzipped:
                raise DataError(
                    f"{path} is not a gzip file: fetch it again, or drop .gz if it is uncompressed"
                )
            with gzip.GzipFile(fileobj=raw) if gzipped else raw as file:
                while chunk := file.read(_CHUNK):
                    yield chunk
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: check the folder and the file's name") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is a damaged gzip file ({error}): fetch it again") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
