"""The folder in which an agent keeps what it needs to go on after a kill. Blocking: it has a worker.

    run                    which run it is of, and after how many rounds there is a checkpoint
    checkpoint-0000015     the agent after round 15; the last two are kept
    arrivals-0000015       a record for each sweep after that, up to the next checkpoint: which feedback it
                           began with, whole, and which is known to be dropped

A checkpoint is there whole or not at all. A record is on disk before the first frame of its sweep is sent: so
an agent that comes back sends the very same frames. It begins with the last checkpoint, and goes through the
sweeps on record once more. A record that was being written when the agent was killed is none.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgefw.services.agent.sealed import DamagedError, Sealed, seal, unseal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

log = logging.getLogger(__name__)

_RUN, _CHECKPOINT, _ARRIVALS, _PARTIAL, _DAMAGED = "run", "checkpoint", "arrivals", ".partial", ".damaged"
_KEPT = 2  # checkpoints


@dataclass(frozen=True)
class Found:
    """What an agent goes on from: a checkpoint, or the beginning; and the sweeps on record after it."""

    run_id: str
    round: int = 0
    checkpoint: Sealed | None = None
    records: dict[int, Sealed] = field(default_factory=dict)  # by round
    older: int | None = None  # the round of the checkpoint before it, 0 for the beginning


class CheckpointFolder:
    """The files of one agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._every = 1
        self._log: _Log | None = None

    def find(self) -> Found | None:
        """Return what is there to go on from; None, and a line that says why, where something is damaged."""
        try:
            run = self._read_run()
            return None if run is None else self._find(str(run.words["run"]))
        except FileNotFoundError:
            log.warning(
                "%s lacks arrivals that are needed to go on: this agent has lost its run", self.folder
            )
        except DamagedError as error:
            log.warning("%s: this agent has lost its run", error)
        return None

    def begin(self, run_id: str, every: int) -> None:
        """Begin with an empty folder."""
        self.close()
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in self._files():  # `run` first: without it, the others are of no run
            file.unlink()
        self._every = every
        _write_whole(self.folder / _RUN, seal({"run": run_id, "every": every}, {}))

    def append(self, t: int, record: bytes) -> None:
        """Keep what sweep t begins with."""
        path = self._place(_ARRIVALS, self._segment(t))
        if self._log is None or self._log.path != path:
            self.close()
            self._log = _Log(path)
        self._log.append(record)

    def keep(self, t: int, checkpoint: bytes) -> None:
        """Keep the agent as it is after round t; let go of what is not needed any more."""
        _write_whole(self._place(_CHECKPOINT, t), checkpoint)
        *others, oldest = self._rounds(_CHECKPOINT)[:_KEPT]
        for name in (_CHECKPOINT, _ARRIVALS):
            for round_ in self._rounds(name):
                if round_ < oldest and (others or name == _CHECKPOINT):  # of one, there is the beginning, too
                    self._place(name, round_).unlink()

    def go_back(self, t: int) -> None:
        """Let go of the checkpoint after round t, to begin with the one before it."""
        self.close()
        self._place(_CHECKPOINT, t).unlink(missing_ok=True)
        _sync_folder(self.folder)

    def close(self) -> None:
        """Let go of the file that is written to."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _read_run(self) -> Sealed | None:
        try:
            data = (self.folder / _RUN).read_bytes()
        except FileNotFoundError:
            return None
        run = _unsealed(self.folder / _RUN, data)
        self._every = int(run.words["every"])
        return run

    def _find(self, run_id: str) -> Found:
        for t in self._rounds(_CHECKPOINT):
            path = self._place(_CHECKPOINT, t)
            try:
                checkpoint = _unsealed(path, path.read_bytes())
            except DamagedError as error:
                log.warning("%s: it is set aside, and an older one is used", error)
                path.rename(path.with_name(path.name + _DAMAGED))
                continue
            older = next((each for each in self._rounds(_CHECKPOINT) if each < t), self._beginning())
            return Found(run_id, t, checkpoint, self._records(t), older)
        return Found(run_id, records=self._records(0))

    def _beginning(self) -> int | None:
        """Return the round of the beginning, where all arrivals since then are there."""
        return 0 if self._place(_ARRIVALS, 0).exists() else None

    def _records(self, t: int) -> dict[int, Sealed]:
        """Return all records after round t; where one is missing, those after it are of no use."""
        segments = [each for each in reversed(self._rounds(_ARRIVALS)) if each >= t]
        if segments and segments[0] != t:
            raise FileNotFoundError
        records: dict[int, Sealed] = {}
        for segment in segments:
            path = self._place(_ARRIVALS, segment)
            for record in _read(path, last=segment == segments[-1]):
                expected = t + len(records) + 1
                if record.words["sweep"] != expected:
                    raise DamagedError(f"{path} has no record of sweep {expected}")
                records[expected] = record
        return records

    def _segment(self, t: int) -> int:
        """Return the round of the checkpoint that comes before sweep t."""
        return (t - 1) // self._every * self._every

    def _place(self, name: str, t: int) -> Path:
        return self.folder / f"{name}-{t:07d}"

    def _rounds(self, name: str) -> list[int]:
        """Return the rounds of all files of a kind, the latest first."""
        ends = (path.name.rpartition("-")[2] for path in self.folder.glob(f"{name}-*"))
        return sorted((int(end) for end in ends if end.isdecimal()), reverse=True)

    def _files(self) -> Iterator[Path]:
        for name in (_RUN, f"{_RUN}{_PARTIAL}", f"{_CHECKPOINT}-*", f"{_ARRIVALS}-*"):
            yield from self.folder.glob(name)


class _Log:
    """A file that grows by whole records; what a write that failed has left goes before the next one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._length = _whole(path.read_bytes())
        _sync_folder(path.parent)

    def append(self, record: bytes) -> None:
        os.ftruncate(self._file, self._length)
        _write_all(self._file, record, self._length)
        os.fsync(self._file)
        self._length += len(record)

    def close(self) -> None:
        os.close(self._file)


def _read(path: Path, *, last: bool) -> Iterator[Sealed]:
    """Yield the records of a file.

    What the last one ends with may be no record: a write under way leaves anything. But where a record comes
    after it, it was confirmed.
    """
    data, at = path.read_bytes(), 0
    while at < len(data):
        try:
            record, at = unseal(data, at)
        except DamagedError as error:
            if last and not any(_is_record(data, place) for place in _beginnings(data, at + 1)):
                return
            raise DamagedError(f"{path} is damaged at byte {at}: {error}") from None
        yield record


def _whole(data: bytes) -> int:
    """Return up to where a log has whole records."""
    at = 0
    with suppress(DamagedError):
        while at < len(data):
            _, at = unseal(data, at)
    return at


def _beginnings(data: bytes, at: int) -> Iterator[int]:
    while (at := data.find(b"edgefw", at)) >= 0:
        yield at
        at += 1


def _is_record(data: bytes, at: int) -> bool:
    try:
        unseal(data, at)
    except DamagedError:
        return False
    return True


def _unsealed(path: Path, data: bytes) -> Sealed:
    try:
        return unseal(data)[0]
    except DamagedError as error:
        raise DamagedError(f"{path} is damaged: {error}") from None


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, whatever happens meanwhile."""
    partial = path.with_name(path.name + _PARTIAL)
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        _write_all(file, content, 0)
        os.fsync(file)
    finally:
        os.close(file)
    partial.replace(path)
    _sync_folder(path.parent)


def _write_all(file: int, content: bytes, at: int) -> None:
    """Write at a place: a disk that is nearly full takes a part."""
    rest: Any = memoryview(content)
    while rest:
        written = os.pwrite(file, rest, at)
        rest, at = rest[written:], at + written


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
