"""A service as a child process; one that rejoins its run is started again when it was killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Awaitable, Callable
    from pathlib import Path

LAST_LINES = 8
AGAIN, WITHIN = 10, 60.0  # how often a service is started again in so many seconds: more is no accident


@dataclass(frozen=True)
class Command:
    """A service and how to start it.

    A `lasting` one runs until it is stopped, others until they are done. One that `rejoins` goes on with the
    run when it was killed and is started again.
    """

    name: str
    arguments: tuple[str, ...]
    address: str  # of its gRPC server
    lasting: bool = False
    rejoins: bool = False


class Child:
    """A running service. `spawn` starts its processes, `say` is told when there is another one."""

    def __init__(
        self, command: Command, log: Path, spawn: Callable[[], Awaitable[Process]], say: Callable[[str], None]
    ) -> None:
        self.command, self.log = command, log
        self._spawn, self._say = spawn, say
        self._process: Process
        self._stopping = False
        self._killed: deque[float] = deque(maxlen=AGAIN)  # when it was, the last times

    async def start(self) -> None:
        """Start its first process."""
        self._process = await self._spawn()
        self.ended = asyncio.create_task(self._end(), name=f"end of {self.command.name}")

    @property
    def running(self) -> bool:
        """Whether it has not ended; one that is being started again has not."""
        return not self.ended.done()

    def stop(self, number: signal.Signals) -> None:
        """Send it the signal to end; SIGKILL goes to all that it started as well."""
        self._stopping = True
        if number == signal.SIGKILL:
            self._kill_all()
        elif self.running:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def failure(self) -> str | None:
        """Return what is wrong with its having ended, or None where nothing is."""
        if self.running:
            return None
        code = self.ended.result()
        if code < 0:
            often = f" {AGAIN + 1} times in {WITHIN:.0f} s" if self._too_often() else ""
            return f"{self.command.name} was killed by {signal.Signals(-code).name}{often}"
        if code or self.command.lasting:
            return f"{self.command.name} ended with exit code {code}"
        return None

    def last_lines(self) -> str:
        """Return the end of its log."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 16_384))
            lines = file.read().decode(errors="replace").splitlines()[-LAST_LINES:]
        said = "\n".join(f"  {line}" for line in lines) or "  (nothing)"
        return f"its last lines ({self.log}):\n{said}"

    async def _end(self) -> int:
        while True:
            code = await self._process.wait()
            self._kill_all()  # what a crashed service had started itself
            if not self._comes_back(code):
                return code
            self._killed.append(monotonic())
            self._tell(f"{self.command.name} was killed by {signal.Signals(-code).name}: it is started again")
            self._process = await self._spawn()
            if self._stopping:  # told to while there was no process to tell
                self.stop(signal.SIGTERM)

    def _comes_back(self, code: int) -> bool:
        return code < 0 and self.command.rejoins and not self._stopping and not self._too_often()

    def _too_often(self) -> bool:
        return len(self._killed) == AGAIN and monotonic() - self._killed[0] < WITHIN

    def _tell(self, what: str) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now():%H:%M:%S.%f}"[:-3] + f" up WARNING {what}\n")  # noqa: DTZ005 - as all lines
        self._say(what)

    def _kill_all(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
