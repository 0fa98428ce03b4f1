"""Which processes still run."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable

Some = TypeVar("Some", int, psutil.Process)


def alive(processes: Iterable[Some]) -> list[Some]:
    """Return those that still run; one that only waits to be collected by its parent does not."""
    return [each for each in processes if _runs(each)]


def _runs(process: int | psutil.Process) -> bool:
    try:
        found = psutil.Process(process) if isinstance(process, int) else process
        return found.is_running() and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it has ended, perhaps since the line before
        return False
