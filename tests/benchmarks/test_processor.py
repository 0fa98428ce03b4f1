"""The processor time of processes, as Linux tells it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from edgefw.benchmarks.processor import helpers_seconds, own_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY = "import time\nwhile time.process_time() < 0.2: pass\n"
ENDED = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}])\n"
GOES_ON = (
    "import subprocess, sys\n"
    f"child = subprocess.Popen([sys.executable, '-c', {BUSY + 'print(flush=True); input()'!r}],"
    " stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
    "child.stdout.readline()\n"
)


@contextmanager
def waiting(code: str) -> Iterator[int]:
    """Run code in a process of its own, which then waits while the block runs."""
    command = [sys.executable, "-c", f"{code}print(flush=True); input()"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as one:
        assert one.stdout is not None
        one.stdout.readline()
        yield one.pid
        one.communicate(b"\n")


def test_the_time_of_this_process_is_what_it_counts_itself() -> None:
    before = time.process_time()
    told = own_seconds(os.getpid())
    after = time.process_time()
    assert before - 0.03 <= told <= after + 0.03  # Linux tells it in hundredths


@pytest.mark.parametrize("code", [ENDED, GOES_ON], ids=["ended", "goes on"])
def test_what_a_process_has_started_is_not_its_own_time(code: str) -> None:
    with waiting(code) as pid:
        assert helpers_seconds(pid) >= 0.19


def test_a_process_that_started_nothing_has_no_helpers() -> None:
    with waiting(BUSY) as pid:
        assert own_seconds(pid) >= 0.19
        assert helpers_seconds(pid) == 0
