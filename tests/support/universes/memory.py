"""An agent's disk: files of its checkpoints, written a little later than they are asked for.

A kill leaves of a write that waits nothing, all of it, or a file that has grown by a part of it.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

T = TypeVar("T")


class MemoryWorker:
    """Does the writing of one life of an agent; `pauses` draws the seconds before and after."""

    def __init__(self, folder: Path, pauses: Callable[[], tuple[float, float]]) -> None:
        self._folder, self._pauses = folder, pauses
        self._turn = asyncio.Lock()
        self._waiting: Callable[[], object] | None = None

    async def do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do some work when what was asked for before it is done, and say so a little later."""
        async with self._turn:
            before, after = self._pauses()
            self._waiting = lambda: work(*arguments)
            await asyncio.sleep(before)
            self._waiting = None
            result = work(*arguments)
            await asyncio.sleep(after)
            return result

    def crash(self, tail: str, chance: Random) -> None:
        """Leave the files as a kill does."""
        waiting, self._waiting = self._waiting, None
        if waiting is None or tail == "none":
            return
        sizes = self._sizes()
        waiting()
        if tail != "whole":
            for file, size in self._sizes().items():
                if file.name.startswith("arrivals") and size > (old := sizes.get(file, 0)):
                    os.truncate(file, chance.randrange(old, size))

    def _sizes(self) -> dict[Path, int]:
        return {file: file.stat().st_size for file in self._folder.glob("*")}

    def close(self) -> None:
        """Have nothing to let go of."""
