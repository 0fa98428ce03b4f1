"""Processes that are started for simulations do not read the script that asked for them."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAIN = "__main__"


@contextmanager
def unread() -> Iterator[None]:
    """Start processes in the block without the script of the one who calls.

    `multiprocessing` has every new process read the main module once more. A script would do all that it does
    once more in each of them, and one that is typed in, or piped to Python, cannot be read at all. What these
    processes run is in edgefw, so they need none of it.
    """
    script = sys.modules[MAIN]
    sys.modules[MAIN] = ModuleType(MAIN)
    try:
        yield
    finally:
        sys.modules[MAIN] = script
