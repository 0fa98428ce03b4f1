"""What a machine that loses its power leaves of a write that no fsync has confirmed.

Theory of operation. SQLite writes a commit in steps, each of which ends with an fsync before the next one
begins (walFrames and walCheckpoint in its source, with synchronous=FULL):

    1. pages go from the log to the database, when the log is full, has no room, or is closed;
    2. a log that is all in the database is begun anew: a header with other salts over the old one;
    3. the frames of the transaction, from the first free place of the log on.

So a crash finds one of the steps under way: what was before it is on disk, what comes after it has not begun.
Of the step itself anything can be there, for a disk writes sectors in any order: a beginning, some sectors,
or all of it with something in it that was never written (here: one flipped bit).

Bytes outside of what a step writes stay as they are, also where they share a sector with it: frames are not
aligned, so the end of a commit that was acknowledged shares one with the beginning of the next. That
is what SQLite counts on ("powersafe overwrite", https://sqlite.org/psow.html), and what disks are believed to
do: a sector is written whole, or not at all, on what energy is left. A disk that ruins the sector it was
writing is outside of what the journal promises; SQLite would have to be told of it (`psow=0`), and would then
leave the rest of a sector empty after every commit.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

SECTOR = 512
TAILS = ("none", "torn", "flipped", "scattered", "whole")
"""What is left of a commit under way: nothing, a beginning, all with a flipped bit, some sectors, all."""

_HEADER = 32  # bytes at the log's start
_PAGE = 4096
_FRAME = 24 + _PAGE  # bytes: its own header, and a page of the journal


class Files(NamedTuple):
    """The contents of a database and of its log; None: there is no such file."""

    database: bytes | None
    log: bytes | None


class _Step(NamedTuple):
    """A file goes from `old` to `new`, its bytes `written`; `place` is its place among `Files`."""

    place: int
    old: bytes
    new: bytes
    written: Sequence[range]


def interrupted(before: Files, after: Files, tail: str, chance: Random) -> Files:
    """Return what a crash leaves while files go from `before` to `after`; `tail` says what of its step."""
    steps = list(_steps(before, after))
    if not steps or tail in {"none", "whole"}:
        return after if tail == "whole" else before
    number = chance.randrange(len(steps))
    files = [*before]
    for step in steps[:number]:
        files[step.place] = step.new
    files[steps[number].place] = _damaged(steps[number], tail, chance)
    return Files(*files)


def _steps(before: Files, after: Files) -> Iterator[_Step]:
    """Yield the writes that lead from one to the other, in SQLite's order, each confirmed before the next."""
    if after.database is not None and after.database != before.database:
        old = before.database or b""
        yield _Step(0, old, after.database, tuple(_pages(old, after.database)))
    log, new = before.log or b"", after.log or b""
    if new and new[:_HEADER] != log[:_HEADER]:
        begun = new[:_HEADER] + log[_HEADER:]
        yield _Step(1, log, begun, (range(_HEADER),))
        log = begun
    starts = range(_HEADER, len(new), _FRAME)
    written = [at for at in starts if log[at : at + _FRAME] != new[at : at + _FRAME]]
    if written:
        yield _Step(1, log, new, (range(written[0], min(written[-1] + _FRAME, len(new))),))


def _pages(old: bytes, new: bytes) -> Iterator[range]:
    """Yield where pages of a database are that a checkpoint has written."""
    for at in range(0, len(new), _PAGE):
        end = min(at + _PAGE, len(new))
        if old[at:end] != new[at:end]:
            yield range(at, end)


def _damaged(step: _Step, tail: str, chance: Random) -> bytes:
    """Return a file of which a part is being written."""
    _, old, new, written = step
    if tail == "torn":
        cut = chance.choice([*chain(*written)])
        return new[:cut] + old[cut:]
    if tail == "flipped":
        at = chance.choice([*chain(*written)])
        return new[:at] + bytes([new[at] ^ 1 << chance.randrange(8)]) + new[at + 1 :]
    assert tail == "scattered"
    file, size = bytearray(new), len(new)
    for bytes_ in written:
        first, end = bytes_.start, bytes_.stop
        for sector in range(first - first % SECTOR, end, SECTOR):
            if chance.random() < 0.5:
                start, stop = max(sector, first), min(sector + SECTOR, end)
                file[start:stop] = old[start:stop].ljust(stop - start, b"\0")
    assert len(file) == size
    return bytes(file)
