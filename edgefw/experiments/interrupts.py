"""Ctrl-C waits until processes that are being started have been told all they are to do."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def put_off() -> Iterator[None]:
    """Put off Ctrl-C until the end of the block; processes that are started in it never see one.

    They inherit the blocked signal, for Ctrl-C in a terminal reaches them too. Blocking it is not enough for
    this process: another thread gets it then (numpy has some), and Python interrupts the main thread all the
    same. A worker that is just being started would be left with half of its instructions.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    main = threading.current_thread() is threading.main_thread()  # only here may handlers be set
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number)) if main else None
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)
