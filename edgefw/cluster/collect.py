"""A run's folder out of the volume that the observer writes to."""

from __future__ import annotations

import io
import tarfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from docker.errors import NotFound

from edgefw.cluster.engine import ClusterError, doing
from edgefw.errors import InputError
from edgefw.records import SCENARIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from edgefw.cluster.engine import Cluster, Member

RUNS = "/var/lib/edgefw/runs"
NONE_YET = "there is no run yet: the observer makes one when it starts"


def runs(observer: Member) -> list[str]:
    """Return the names of all runs, the latest last: a run's first file is its scenario."""
    with _archive(observer, RUNS) as archive:
        begun = {e.name.split("/")[1]: e.mtime for e in archive if e.name.endswith(f"/{SCENARIO}")}
    if not begun:
        raise ClusterError(NONE_YET)
    return sorted(begun, key=lambda name: (begun[name], name))


def collect(cluster: Cluster, run: str | None, out: Path) -> Path:
    """Copy a run's folder (the latest if none is named) into the folder `out`; return where it is."""
    observer = cluster.member("observer")
    known = runs(observer)
    if run is not None and run not in known:
        raise InputError(f"there is no run {run!r}: there are {', '.join(known)}")
    run = run or known[-1]
    target = out / run
    if target.exists():
        raise InputError(f"{target} exists already: remove it, or give another --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with _archive(observer, f"{RUNS}/{run}") as archive:
            archive.extractall(out, filter="data")
    except OSError as error:
        raise InputError(f"cannot write {target} ({error.strerror}): give another --out") from None
    return target


@contextmanager
def _archive(observer: Member, path: str) -> Iterator[tarfile.TarFile]:
    """Open a folder of the observer's container, running or not, as it is sent: it may be large."""
    with doing(f"read {path} of the observer"):
        try:
            chunks, _ = observer.container.get_archive(path)
        except NotFound:
            raise ClusterError(NONE_YET) from None
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
