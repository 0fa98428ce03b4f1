"""Ctrl-C while workers are being started: all are started, none sees it, and then it counts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from edgefw.experiments import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAY_MASK = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set()))"


@pytest.fixture
def interrupt_elsewhere() -> Iterator[Callable[[], None]]:
    """Return what interrupts a thread that does not block the signal, and waits until it has been taken."""
    end, (reading, writing) = threading.Event(), os.pipe()
    os.set_blocking(writing, False)
    thread = threading.Thread(target=end.wait)
    thread.start()
    before = signal.set_wakeup_fd(writing)

    def send() -> None:
        assert thread.ident is not None
        signal.pthread_kill(thread.ident, signal.SIGINT)
        os.read(reading, 1)

    yield send
    signal.set_wakeup_fd(before)
    end.set()
    thread.join()
    os.close(reading)
    os.close(writing)


def test_an_interrupt_comes_after_the_block_also_by_way_of_another_thread(
    interrupt_elsewhere: Callable[[], None],
) -> None:
    done: list[bool] = []

    def work() -> None:
        with interrupts.put_off():
            interrupt_elsewhere()
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [True]


def test_without_an_interrupt_all_is_as_before() -> None:
    handler, mask = signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, set())
    with interrupts.put_off():
        pass
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) == mask


def test_what_is_started_in_the_block_sees_no_interrupt() -> None:
    with interrupts.put_off():
        said = subprocess.run([sys.executable, "-c", SAY_MASK], capture_output=True, text=True, check=True)
    assert said.stdout == "True\n"


def test_a_thread_that_may_set_no_handler_can_use_it_too() -> None:
    ended: list[bool] = []

    def work() -> None:
        with interrupts.put_off():
            ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]
