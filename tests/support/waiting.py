"""Waits for what has to come true: no longer than it takes, and long enough on however busy a machine."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 60.0  # seconds after which it never comes true
_PAUSE = 0.02


def until(condition: Callable[[], Any], what: str = "it comes true", seconds: float = PATIENCE) -> float:
    """Wait for something to come true; return the seconds that it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() < begin + seconds, f"not within {seconds:.0f} s: {what}"
        time.sleep(_PAUSE)
    return time.monotonic() - begin


async def eventually(
    condition: Callable[[], Any], what: str = "it comes true", seconds: float = PATIENCE
) -> None:
    """Wait for something that tells nobody when it comes true; the loop goes on meanwhile."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() < begin + seconds, f"not within {seconds:.0f} s: {what}"
        await asyncio.to_thread(time.sleep, _PAUSE / 4)  # a test may have stopped the loop's own clock
