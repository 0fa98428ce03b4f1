"""A session in a thread of its own is told of signals, whichever thread the system gives them to."""

from __future__ import annotations

import asyncio
import signal
import threading

from waiting import PATIENCE

from edgefw.local.completing import complete


class Interrupted:
    """Sends itself a signal, and waits until it is told."""

    def __init__(self) -> None:
        self._told = asyncio.Event()
        self.was_told = False

    async def run(self) -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        await asyncio.wait_for(self._told.wait(), PATIENCE)
        self.was_told = True

    def interrupt(self) -> None:
        self._told.set()


def test_a_signal_that_comes_in_another_thread_is_handed_on() -> None:
    session = Interrupted()
    complete(session, asyncio.new_event_loop())
    assert session.was_told
