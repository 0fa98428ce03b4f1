"""A run's folder out of the volume that the observer writes to, and what every container said meanwhile."""

from __future__ import annotations

import io
import tarfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from docker.errors import NotFound

from edgefw.containers.engine import Containers, EngineError, Member, doing
from edgefw.errors import InputError
from edgefw.records import LOGS, SCENARIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUNS = "/var/lib/edgefw/runs"
NONE_YET = "there is no run yet: the observer makes one when it starts"


def runs(observer: Member) -> dict[str, float]:
    """Return the names of all runs, the latest last, and when each began: its first file is its scenario."""
    with _archive(observer, RUNS) as archive:
        begun = {e.name.split("/")[1]: e.mtime for e in archive if e.name.endswith(f"/{SCENARIO}")}
    if not begun:
        raise EngineError(NONE_YET)
    return dict(sorted(begun.items(), key=lambda run: (run[1], run[0])))


def collect(containers: Containers, run: str | None, out: Path) -> Path:
    """Copy a run's folder (the latest if none is named) into the folder `out`; return where it is.

    The logs of all containers come with it, as the folder of a run of processes has them.
    """
    observer = containers.member("observer")
    known = runs(observer)
    if run is not None and run not in known:
        raise InputError(f"there is no run {run!r}: there are {', '.join(known)}")
    run = run or list(known)[-1]
    target = out / run
    if target.exists():
        raise InputError(f"{target} exists already: remove it, or give another --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with _archive(observer, f"{RUNS}/{run}") as archive:
            archive.extractall(out, filter="data")
        _write_logs(containers.members(), target / LOGS, *_span(known, run))
    except OSError as error:
        raise InputError(f"cannot write {target} ({error.strerror}): give another --out") from None
    return target


def _span(begun: dict[str, float], run: str) -> tuple[float | None, float | None]:
    """Return from when on and until when containers spoke of a run; None: from their first, to their last."""
    names = list(begun)
    place = names.index(run)
    following = names[place + 1 : place + 2]
    return (begun[run] if place else None), (begun[following[0]] if following else None)


def _write_logs(members: list[Member], folder: Path, since: float | None, until: float | None) -> None:
    folder.mkdir(exist_ok=True)
    for member in members:
        with doing(f"read the log of {member.name}"):
            said = member.container.logs(since=since, until=until)
        (folder / f"{member.name}.log").write_bytes(said)


@contextmanager
def _archive(observer: Member, path: str) -> Iterator[tarfile.TarFile]:
    """Open a folder of the observer's container, running or not, as it is sent: it may be large."""
    with doing(f"read {path} of the observer"):
        try:
            chunks, _ = observer.container.get_archive(path)
        except NotFound:
            raise EngineError(NONE_YET) from None
    with tarfile.open(fileobj=_Chunks(chunks), mode="r|") as archive:
        yield archive


class _Chunks(io.RawIOBase):
    """An iterator of bytes as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer with what comes next; 0 at the end."""
        self._rest = self._rest or next(self._chunks, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
