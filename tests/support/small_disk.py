"""A disk with little room, for whoever has to go on when it is full."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """Mount a disk of 2 MB while the block runs; the test is skipped where that is not permitted."""
    folder.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("no mount command")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"mounting a small disk is not permitted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # a test that failed may have it open


def remount(disk: Path, options: str) -> None:
    """Change a mounted disk: `size=16m`, `ro`, `rw`."""
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def fill(disk: Path) -> None:
    """Leave no room."""
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={disk / 'filling'}", "bs=4k"], check=False, capture_output=True
    )


def clear(disk: Path) -> None:
    """Make room again."""
    (disk / "filling").unlink()
