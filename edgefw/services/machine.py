"""The one seam to the machine: threads, helper processes, and the time of day.

There are two. `REAL` has a thread for every worker and a process for every helper; `InlineMachine` does all
of it in the event loop's own thread, at once and in order, so that a run depends on nothing that the system
schedules. The same services run on either: they are handed one, next to their transport.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

from edgefw.errors import WireError

T = TypeVar("T")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str | None:
    """Return what tells this boot of the machine from others; None where the system does not say."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip() or None
    except OSError:
        return None


def own_seconds() -> float:
    """Return the seconds of a core that this process has taken."""
    return time.process_time()


class Clocks(NamedTuple):
    """Where the time on disk comes from; `monotonic_ns` is the event loop's clock, in nanoseconds."""

    monotonic_ns: Callable[[], int] = time.monotonic_ns
    time_ns: Callable[[], int] = time.time_ns
    boot: Callable[[], str | None] = boot_id


SYSTEM = Clocks()


class Worker(Protocol):
    """Does blocking work, one piece after the other, in the order in which it was asked to."""

    async def do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what some work comes to."""

    def close(self) -> None:
        """Let go of the thread, when it has done what it was asked to."""


class Program(Protocol):
    """What a helper does: something of its own accord, then an answer to each request. It speaks lines."""

    def begin(self) -> Iterator[str]:
        """Work unasked; yield what there is to say."""

    def answer(self, request: str) -> Iterator[str]:
        """Work on a request; yield what there is to say."""


Make = Callable[[Callable[[], bool], Callable[[], float]], Program]
"""Makes a program. It is handed a way to see whether a request waits, and its clock, in seconds."""


class Helper(Protocol):
    """A program that runs beside the event loop."""

    def lines(self) -> AsyncIterator[bytes]:
        """Yield what it says, until it ends; WireError if a line does not end."""

    async def ask(self, request: str) -> None:
        """Ask it something; where it has ended, nobody hears."""

    async def wait(self) -> int:
        """Wait for its end; return its exit code."""

    def kill(self) -> None:
        """End it."""


@dataclass(frozen=True)
class Machine:
    """What a service runs on: this machine, its threads, its processes, its clocks."""

    clocks: Clocks = SYSTEM

    def worker(self, name: str) -> Worker:
        """Return a new worker: a thread."""
        return _Thread(name)

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what some work comes to that takes a while, and that nothing has to come after."""
        return await asyncio.to_thread(work, *arguments)

    async def helper(self, command: Sequence[str], make: Make, longest: int) -> Helper:
        """Start a helper, whose lines have at most so many bytes; OSError if it cannot be started.

        `command` is how a process runs the program, `make` how it is run without one. A process is not to
        take more than one core.
        """
        del make
        pipe = asyncio.subprocess.PIPE
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, env=alone, limit=longest
        )
        return _Process(process)


REAL = Machine()


class InlineMachine(Machine):
    """No threads, no processes: what is asked for is done at once."""

    def worker(self, name: str) -> Worker:
        """Return a worker that works while it is asked."""
        del name
        return _Inline()

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do some work while it is asked for."""
        return work(*arguments)

    async def helper(self, command: Sequence[str], make: Make, longest: int) -> Helper:
        """Run a program as a task; others have their turn whenever it has said something."""
        del command, longest
        return _Task(make)


class _Thread:
    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def do(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def close(self) -> None:
        self._pool.shutdown()


class _Inline:
    async def do(self, work: Callable[..., T], *arguments: Any) -> T:
        return work(*arguments)

    def close(self) -> None:
        """Have nothing to let go of."""


class _Process:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None  # noqa: S101 - asked for
        assert process.stdout is not None  # noqa: S101 - likewise
        self._process, self._input, self._output = process, process.stdin, process.stdout

    async def lines(self) -> AsyncIterator[bytes]:
        try:
            async for line in self._output:
                yield line
        except ValueError as error:
            raise WireError("line", str(error)) from None

    async def ask(self, request: str) -> None:
        with suppress(ConnectionError):
            self._input.write(f"{request}\n".encode())
            await self._input.drain()

    async def wait(self) -> int:
        return await self._process.wait()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()


class _Task:
    def __init__(self, make: Make) -> None:
        self._requests: asyncio.Queue[str] = asyncio.Queue()
        self._said: asyncio.Queue[str | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(make))

    async def lines(self) -> AsyncIterator[bytes]:
        while (line := await self._said.get()) is not None:
            yield line.encode()

    async def ask(self, request: str) -> None:
        self._requests.put_nowait(request)

    async def wait(self) -> int:
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.result()
        return 0

    def kill(self) -> None:
        self._task.cancel()

    async def _run(self, make: Make) -> None:
        try:
            program = make(lambda: not self._requests.empty(), asyncio.get_running_loop().time)
            await self._say(program.begin())
            while True:
                await self._say(program.answer(await self._requests.get()))
        finally:
            self._said.put_nowait(None)

    async def _say(self, lines: Iterator[str]) -> None:
        for line in lines:
            self._said.put_nowait(line)
            await asyncio.sleep(0)


def be_helper(make: Make, nice: int) -> None:
    """Run a program as this process: requests come by standard input, and when that closes it ends.

    `nice` is the least that it gives way to others; a parent that is nicer stays so in its child.
    """
    os.setpriority(os.PRIO_PROCESS, 0, max(nice, os.nice(0)))
    requests: SimpleQueue[str | None] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    program = make(lambda: not requests.empty(), time.monotonic)
    _print(program.begin())
    while (request := requests.get()) is not None:
        _print(program.answer(request))


def _listen(requests: SimpleQueue[str | None]) -> None:
    for line in sys.stdin:
        if line.endswith("\n"):  # else it was left half written by somebody who died
            requests.put(line)
    requests.put(None)


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201 - whoever started the process reads it
