"""How much memory there is for this process: that of the machine, or less where a control group says so.

A container is such a group. Whoever uses more is killed by the kernel without a word, so nobody may plan to.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_GROUPS = Path("sys/fs/cgroup")


def available(root: Path = Path("/")) -> int:
    """Return the bytes that this process may use; `root` is where /proc and /sys are found."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([physical, *_limits(root)])


def _limits(root: Path) -> Iterator[int]:
    """Yield the limits of the control groups that the process is in."""
    for folder, file, group in _groups(root):
        # Its limit is the least of its own and those around it. A container may know itself by the path that
        # it has outside, and see its own group at the top: what is not there is passed over.
        for around in (group, *group.parents):
            try:
                text = (folder / around.relative_to("/") / file).read_text().strip()
            except OSError:
                continue
            if text.isdecimal():  # "max" is none
                yield int(text)


def _groups(root: Path) -> Iterator[tuple[Path, str, Path]]:
    """Yield where limits of memory are found: a folder, a file in it and below, the path of the group."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:  # version 2
            yield root / _GROUPS, "memory.max", Path(group)
        elif "memory" in controllers.split(","):
            yield root / _GROUPS / "memory", "memory.limit_in_bytes", Path(group)
