from __future__ import annotations

import gzip
import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from idx_files import write_idx

from edgefw.errors import DataError
from edgefw.problem.idx import array_sha256, content_sha256, read_idx

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

ARRAYS = arrays(np.uint8, array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5))
# two images of 1 x 3, byte by byte as the format's description gives them
PLAIN = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255])
PACKED = gzip.compress(PLAIN, mtime=0)  # no time in it: the same bytes whenever they are made


@settings(deadline=None, max_examples=40)
@given(ARRAYS, st.sampled_from(["a", "a.gz"]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, array: NDArray[np.uint8], name: str
) -> None:
    path = tmp_path_factory.mktemp("idx") / name
    write_idx(path, array)
    assert list(path.parent.iterdir()) == [path]
    again = read_idx(path)
    assert again.dtype == np.uint8
    assert again.shape == array.shape
    assert np.array_equal(again, array)
    assert array_sha256(array) == content_sha256(path)


@pytest.mark.parametrize("name", ["plain", "packed.gz", "packed-without-suffix"])
def test_the_format_is_the_published_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PLAIN if name == "plain" else PACKED)
    assert read_idx(path).tolist() == [[[1, 2, 3]], [[4, 5, 255]]]
    assert content_sha256(path) == hashlib.sha256(PLAIN).hexdigest()
    write_idx(tmp_path / "again", read_idx(path))
    assert (tmp_path / "again").read_bytes() == PLAIN


def test_several_gzip_members_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(PLAIN[:3]) + gzip.compress(PLAIN[3:]))
    assert read_idx(path).shape == (2, 1, 3)


def test_a_slice_is_written_as_it_reads(tmp_path: Path) -> None:
    array = np.arange(24, dtype=np.uint8).reshape(4, 6)[::2, ::3]
    write_idx(tmp_path / "a", array)
    assert np.array_equal(read_idx(tmp_path / "a"), array)
    assert array_sha256(array) == content_sha256(tmp_path / "a")


def test_more_than_one_piece_is_read(tmp_path: Path) -> None:
    array = np.resize(np.arange(251, dtype=np.uint8), (3, 1 << 20))
    write_idx(tmp_path / "a", array)
    assert np.array_equal(read_idx(tmp_path / "a"), array)


DAMAGED = {
    "cut in its content": ("a", PLAIN[:-2], r"a is truncated: its header announces 22 bytes, it holds 20"),
    "too long": ("a", PLAIN + b"x", r"a has trailing bytes: its header announces 22 bytes and more follow"),
    "cut in its header": ("a", PLAIN[:9], r"a is truncated: its header is cut after 9 bytes"),
    "empty": ("a", b"", r"a is truncated: its header is cut after 0 bytes"),
    "of floats": (
        "a",
        b"\0\0\x0d\1" + PLAIN[4:],
        r"a is not an idx file of unsigned bytes: it starts with 00 00 0d 01",
    ),
    "without dimensions": ("a", b"\0\0\x08\0", r"it starts with 00 00 08 00"),
    "a web page": ("a", b"<html>", r"it starts with 3c 68 74 6d"),
    "huge by its header": (
        "a",
        b"\0\0\x08\4" + b"\xff" * 16,
        r"truncated: its header announces 3402823\d+ bytes, it holds 20",
    ),
    "not packed": ("a.gz", PLAIN, r"a.gz is not a gzip file: fetch it again, or drop .gz"),
    "empty, not packed": ("a.gz", b"", r"a.gz is not a gzip file"),
    "packed and cut": ("a.gz", PACKED[:-9], r"a.gz is a damaged gzip file .*: fetch it again"),
    "packed with a wrong sum": ("a.gz", PACKED[:-8] + bytes(8), r"a.gz is a damaged gzip file \(CRC"),
    "packed, and junk": ("a.gz", PACKED + b"junk", r"a.gz is a damaged gzip file"),
    "packed junk": ("a.gz", PACKED[:10] + b"\xff" * 20, r"a.gz is a damaged gzip file \(Error -3"),
}


@pytest.mark.parametrize(("name", "content", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_refused_with_what_is_wrong(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_idx(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=40), st.integers(0, len(PLAIN)))
def test_no_content_leads_to_another_error(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, keep: int
) -> None:
    path = tmp_path_factory.mktemp("idx") / "a"
    path.write_bytes(PLAIN[:keep] + junk)
    try:
        assert len(path.read_bytes()) == 4 + 4 * read_idx(path).ndim + read_idx(path).size
    except DataError as error:
        assert str(path) in str(error)  # noqa: PT017 - either outcome is right


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.gz does not exist: check the folder"):
        read_idx(tmp_path / "nowhere.gz")
    with pytest.raises(DataError, match=r"cannot read .*: Is a directory"):
        read_idx(tmp_path)
