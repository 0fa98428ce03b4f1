"""Running something to its end in a thread of its own, with signals handed on to it."""

from __future__ import annotations

import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOOK = 0.2  # seconds; a signal that the system gives to another thread wakes nobody who could see to it


class Session(Protocol):
    """Something that runs in an event loop until it ends, or is interrupted."""

    async def run(self) -> None:
        """Run to the end."""

    def interrupt(self) -> None:
        """Stop cleanly at the first call, at once at the second; called in the event loop."""


def complete(session: Session, loop: asyncio.AbstractEventLoop) -> None:
    """Run a session to its end, in a thread of its own: an event loop may be running in this one.

    A notebook has one. This thread waits, and hands on the signals that come. The loop is closed at the end.
    """

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(session.run())

    def interrupt() -> None:
        with suppress(RuntimeError):  # the loop has been closed: there is nothing left to stop
            loop.call_soon_threadsafe(session.interrupt)

    with ThreadPoolExecutor(1, "emulation") as pool, _on_signals(interrupt):
        running = pool.submit(run)
        while not wait({running}, LOOK).done:
            pass
        running.result()


@contextmanager
def _on_signals(call: Callable[[], None]) -> Iterator[None]:
    """Call it at SIGINT and SIGTERM while the block runs; only the main thread can be told of them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: call()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
