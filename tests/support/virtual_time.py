"""An event loop whose clock is its own: it stands while anybody has work, and jumps to the next timer."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code that waits for time and for tasks alone: sockets and threads would be left behind."""

    def __init__(self) -> None:
        self._virtual = 1000.0
        super().__init__(_Jump(self))

    def time(self) -> float:
        return self._virtual

    def jump(self, seconds: float) -> None:
        self._virtual += seconds


class _Jump(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events:
            assert timeout is not None, "everybody waits, and nothing will ever happen"
            self._loop.jump(max(timeout, 0.0))
        return events


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run some work to its end; hours of its time take no time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
