"""What stands in SQLite's log file: to tell whether SQLite used all of it.

SQLite recovers silently: it stops at the first frame that is damaged and goes on from the commit before it.
After a crash that is right, for the last transaction may be half on disk and nobody was told of it. Anywhere
else it means that something acknowledged is gone.

The log's header is written over when the log is begun anew, which SQLite does once all of it is in the
database. A crash just then leaves a header that is neither the old nor the new one. SQLite takes no notice of
such a log, and rightly so, if the database has all that stands in it; `is_spent` looks whether it has.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from edgefw.services.broker.journal.schema import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEADER = struct.Struct(">8I")  # magic, version, page size, sequence, salts, checksums
_FRAME = struct.Struct(">6I")  # page, pages after a commit (else 0), salts, checksums
_MAGIC = 0x377F0682  # its lowest bit: the checksums are over big-endian words
_BIG = sys.byteorder == "big"  # SQLite writes them as its machine has them


@dataclass(frozen=True)
class Log:
    """The frames of a log that belong to its present use, counted from 1."""

    frames: int = 0
    commits: tuple[int, ...] = ()  # those that end a transaction
    readable: bool = True  # false: there is something, and its header is damaged
    spent: bool = False  # its header is damaged, and all that was in it is in the database

    def left_out(self, recovered: int) -> int:
        """Return how many frames SQLite left out when it recovered so many."""
        return max(self.frames - recovered, 0)

    def lost(self, recovered: int) -> bool:
        """Whether more was left out than one transaction that was under way.

        There is one writer, and it waits for each commit: behind the commit of a transaction that nobody was
        told of, nothing else stands.
        """
        return not self.readable or any(recovered < commit < self.frames for commit in self.commits)


def read_log(path: Path) -> Log:
    """Read the log file; an empty one if there is none."""
    try:
        with path.open("rb") as file:
            return _read(file)
    except FileNotFoundError:
        return Log()


def _read(file: BinaryIO) -> Log:
    start = file.read(_HEADER.size)
    if len(start) < _HEADER.size or not any(start):  # nothing was ever written to it
        return Log()
    magic, _, page, _, *salts, first, second = _HEADER.unpack(start)
    if magic & ~1 != _MAGIC or (first, second) != _checksum(start[:24], big=bool(magic & 1)):
        return Log(readable=False)
    frames, commits, number, sums = 0, [], 0, (first, second)
    while len(head := file.read(_FRAME.size)) == _FRAME.size:
        number += 1
        _, pages, *own, first, second = _FRAME.unpack(head)
        content = file.read(page)
        if own == salts:  # others are left from before the log was used from its start again
            frames = number
            ends = pages and not _ends_nothing(head, content, sums, big=bool(magic & 1))
            commits += [number] if ends else []
        sums = first, second
    return Log(frames, tuple(commits))


def _ends_nothing(head: bytes, content: bytes, sums: tuple[int, int], *, big: bool) -> bool:
    """Whether a frame says that it ends a transaction only because that very number is damaged."""
    *_, first, second = _FRAME.unpack(head)
    whole = len(content) % 8 == 0  # else the file ends in it
    return whole and (first, second) == _checksum(head[:4] + bytes(4) + content, sums, big=big)


def is_spent(path: Path, database: Path) -> bool:
    """Whether all that was committed to a log, whose header is damaged, stands in the database."""
    with path.open("rb") as log, database.open("rb") as pages:
        log.seek(_HEADER.size)
        for page, content in _committed(log).items():
            pages.seek((page - 1) * PAGE)
            if pages.read(PAGE) != content:
                return False
    return True


def _committed(log: BinaryIO) -> dict[int, bytes]:
    """Return the pages of the last use of a log, as its last commit left them."""
    committed: dict[int, bytes] = {}
    since: dict[int, bytes] = {}
    for page, commits, content in _chained(log):
        since[page] = content
        if commits:
            committed |= since
            since = {}
    return committed


def _chained(log: BinaryIO) -> Iterator[tuple[int, bool, bytes]]:
    """Yield frames that follow one from another: page, whether it ends a transaction, content.

    A frame's checksums go on from those of the frame before it. The first goes on from the header's, which
    nobody knows any more: it is taken as it is.
    """
    salts: list[int] | None = None
    sums = 0, 0
    while len(head := log.read(_FRAME.size)) == _FRAME.size and len(content := log.read(PAGE)) == PAGE:
        page, pages, *own, first, second = _FRAME.unpack(head)
        chained = own == salts and (first, second) == _checksum(head[:8] + content, sums, big=_BIG)
        if not page or not (chained or salts is None):
            return
        salts, sums = own, (first, second)
        yield page, bool(pages), content


def _checksum(data: bytes, sums: tuple[int, int] = (0, 0), *, big: bool) -> tuple[int, int]:
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    first, second = sums
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
