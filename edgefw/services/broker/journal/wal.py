"""What stands in SQLite's log file: to tell whether SQLite used all of it.

SQLite recovers silently: it stops at the first frame that is damaged and goes on from the commit before it.
After a crash that is right, for the last transaction may be half on disk and nobody was told of it. Anywhere
else it means that something acknowledged is gone.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

_HEADER = struct.Struct(">8I")  # magic, version, page size, sequence, salts, checksums
_FRAME = struct.Struct(">6I")  # page, pages after a commit (else 0), salts, checksums
_MAGIC = 0x377F0682  # its lowest bit: the checksums are over big-endian words


@dataclass(frozen=True)
class Log:
    """The frames of a log that belong to its present use, counted from 1."""

    frames: int = 0
    commits: tuple[int, ...] = ()  # those that end a transaction
    readable: bool = True  # false: there is something, and its header is damaged

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
    frames, commits, number = 0, [], 0
    while len(head := file.read(_FRAME.size)) == _FRAME.size:
        number += 1
        _, pages, *own, _, _ = _FRAME.unpack(head)
        if own == salts:  # others are left from before the log was used from its start again
            frames = number
            commits += [number] if pages else []
        file.seek(page, 1)
    return Log(frames, tuple(commits))


def _checksum(data: bytes, *, big: bool) -> tuple[int, int]:
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    first = second = 0
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
