"""Which of the package's own functions are called, counted and not timed: the same on every machine."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import edgefw

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

PACKAGE = f"{Path(edgefw.__file__).parent}/"


@contextmanager
def calls() -> Iterator[list[str]]:
    """Yield a list that gets the file and the name of each function that is called in this thread."""
    found: list[str] = []

    def called(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            found.append(f"{frame.f_code.co_filename.removeprefix(PACKAGE)} {frame.f_code.co_name}")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield found
    finally:
        sys.setprofile(before)
