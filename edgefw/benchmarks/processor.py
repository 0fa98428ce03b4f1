"""The processor time of processes that go on, and of what they have started, as Linux tells it."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
TICK = 1 / _TICKS  # seconds: what is shorter is not seen
_PARENT, _USER, _CHILD_SYSTEM = 1, 11, 14  # places in /proc/PID/stat after the name
_OWN = 2  # fields: user and system; two more are those of children that have ended


def own_seconds(pid: int) -> float:
    """Return the seconds that a process has used itself."""
    return sum(map(int, _stat(pid)[_USER : _USER + _OWN])) / _TICKS


def helpers_seconds(pid: int) -> float:
    """Return the seconds of all that a process has started, whether it goes on or has ended."""
    ended = sum(map(int, _stat(pid)[_USER + _OWN : _CHILD_SYSTEM + 1])) / _TICKS
    return ended + sum(own_seconds(child) + helpers_seconds(child) for child in _children(pid))


def _children(pid: int) -> list[int]:
    listed = PROC.glob(f"{pid}/task/*/children")
    return [int(child) for path in listed for child in path.read_text(encoding="ascii").split()]


def _stat(pid: int) -> list[str]:
    return (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
