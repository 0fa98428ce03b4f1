"""Services as child processes: started in order, watched, stopped in the reverse order, never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Self

from edgefw.errors import EdgefwError
from edgefw.local.child import Child, Command
from edgefw.local.guard import SUPERVISED
from edgefw.transport.channel import GrpcTransport
from edgefw.transport.credentials import OPERATOR, Credentials, environment_of, new_token, read_tls
from edgefw.transport.race import end_all
from edgefw.transport.server import until_serving

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

STOP_SECONDS = 10.0  # for a clean end after SIGTERM, each group of services
KILL_SECONDS = 5.0  # for the kernel to end what was killed
ENVIRONMENT = {
    # results repeat bit for bit only if sums are not divided over threads
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "1",
    "no_grpc_proxy": "127.0.0.1,localhost",  # a proxy of the user's is not for talking to this machine
    SUPERVISED: "1",
}


class ServiceError(EdgefwError):
    """A service ended, or did not start, when it should not."""


class Supervisor:
    """Runs groups of services. Leaving its block stops them, the group that was started last first.

    `say` is told of a service that was killed and is started again.
    """

    def __init__(self, logs: Path, say: Callable[[str], None], tls: Path | None = None) -> None:
        """Run services that log in a folder; `tls` has a folder for each with its certificate."""
        self._logs, self._say, self._tls, self._token = logs, say, tls, new_token()
        own = None if tls is None else read_tls(tls / OPERATOR)
        self._transport = GrpcTransport(Credentials(self._token, own))
        self._groups: list[list[Child]] = []
        self._lifeline = os.pipe()  # see `guard`
        self._hurried = False
        self.stopping = False  # whether the services are being stopped

    async def __aenter__(self) -> Self:
        self._logs.mkdir(parents=True, exist_ok=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        problems = await self.stop()
        for end in self._lifeline:
            os.close(end)
        if problems and kind is None:
            raise ServiceError(problems[0])

    async def start(self, commands: Sequence[Command]) -> None:
        """Start a group of services; none of them is ready yet."""
        group: list[Child] = []
        self._groups.append(group)
        for command in commands:
            log = self._logs / f"{command.name}.log"
            child = Child(command, log, partial(self._spawn, command, log), self._say)
            await child.start()
            group.append(child)

    async def _spawn(self, command: Command, log: Path) -> Process:
        with log.open("ab") as file:
            return await asyncio.create_subprocess_exec(
                *command.arguments,
                stdin=self._lifeline[0],
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **ENVIRONMENT, **self._credentials_of(command.name)},
                start_new_session=True,  # Ctrl-C in the terminal is for the supervisor alone
            )

    async def ready(self, seconds: float) -> None:
        """Wait until every service answers health checks with SERVING (or has ended well)."""
        checks = {asyncio.create_task(self._serving(child.command)): child for child in self._running()}
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            while late := [child for check, child in checks.items() if not check.done() and child.running]:
                left = deadline - asyncio.get_running_loop().time()
                if left <= 0:
                    raise ServiceError(_not_ready(late, seconds))
                await self._wait([check for check in checks if not check.done()], left)
        finally:
            await end_all(checks)

    async def _serving(self, command: Command) -> None:
        await until_serving(command.address, self._transport, command.name)

    def _credentials_of(self, name: str) -> dict[str, str]:
        """Return what tells a service the run's token, and where its certificate is."""
        return environment_of(self._token, None if self._tls is None else self._tls / name)

    async def wait(self, seconds: float) -> None:
        """Return after some time, or when a service ends; raise where one ended that should not have."""
        await self._wait([], seconds)

    def running(self, name: str) -> bool:
        """Whether a service has been started and has not ended."""
        return any(child.command.name == name for child in self._running())

    def hurry(self) -> None:
        """End everything now: no service gets time for a clean end."""
        self._hurried = True
        for child in self._running():
            child.stop(signal.SIGKILL)

    async def stop(self) -> list[str]:
        """Stop all services; return what went wrong in that."""
        self.stopping = True
        problems: list[str] = []
        for group in reversed(self._groups):
            problems += await self._stop([child for child in group if child.running])
        return problems

    async def _stop(self, group: list[Child]) -> list[str]:
        for child in group:
            child.stop(signal.SIGTERM)
        await _ends(group, STOP_SECONDS)
        slow = [child for child in group if child.running]
        for child in slow:
            child.stop(signal.SIGKILL)
        await _ends(slow, KILL_SECONDS)
        problems = [f"{child.command.name} did not end within {STOP_SECONDS:.0f} s" for child in slow]
        if self._hurried:
            return problems
        # one that had not yet come to handle SIGTERM has ended by it, and had nothing to finish
        well = {0, -signal.SIGTERM}
        failed = [child for child in group if child not in slow and child.ended.result() not in well]
        return problems + [f"{child.failure()}; {child.last_lines()}" for child in failed]

    def _all(self) -> list[Child]:
        return [child for group in self._groups for child in group]

    def _running(self) -> list[Child]:
        return [child for child in self._all() if child.running]

    async def _wait(self, others: Sequence[asyncio.Task[None]], seconds: float) -> None:
        self._check()
        events = {*others, *(child.ended for child in self._running())}
        if events:
            await asyncio.wait(events, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(seconds)
        self._check()

    def _check(self) -> None:
        for child in self._all():
            if problem := child.failure():
                raise ServiceError(f"{problem}; {child.last_lines()}")


async def _ends(children: Sequence[Child], seconds: float) -> None:
    if children:
        await asyncio.wait({child.ended for child in children}, timeout=seconds)


def _not_ready(late: Sequence[Child], seconds: float) -> str:
    names = ", ".join(child.command.name for child in late)
    return f"not ready after {seconds:g} s: {names}; of {late[0].command.name}, {late[0].last_lines()}"
