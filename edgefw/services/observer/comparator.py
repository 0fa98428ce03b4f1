"""The comparator's process as the observer sees it: certificates that come, one last one on request."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.core.regret import Comparator
from edgefw.errors import WireError
from edgefw.services.observer.comparing import Request
from edgefw.services.observer.scoring import Certificate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

log = logging.getLogger(__name__)

PATIENCE = 300.0  # seconds of search after the last round
HURRY = 3.0  # ... where the observer was told to stop
MARGIN = 3.0  # for the process to come to a request, and to certify what it has
COMMAND = (sys.executable, "-m", "edgefw.services.observer.comparing")
_LONGEST_LINE = 64 * 1024 * 1024


class ComparatorProcess:
    """Searches for the best fixed point of a scenario, over `rounds` rounds.

    `found` is called with what it finds on the way; `failed`, should it fail: then nothing more comes.
    """

    def __init__(
        self,
        scenario_path: Path,
        rounds: int,
        found: Callable[[Certificate], None],
        failed: Callable[[], None],
    ) -> None:
        self._scenario_path, self._rounds, self._found, self._failed = scenario_path, rounds, found, failed
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._last: asyncio.Future[Certificate | None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Start the process."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(*COMMAND, str(self._scenario_path)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                limit=_LONGEST_LINE,
            )
        except OSError as error:
            self._fail(f"cannot be started: {error}")
        else:
            self._reader = asyncio.create_task(self._read(self._process))

    async def last(
        self, rounds: int, worst_loss: float, stop: asyncio.Event, patience: float = PATIENCE
    ) -> Certificate | None:
        """Return the certificate of the rounds played; a wider one, or none, where `stop` leaves no time."""
        if not stop.is_set():
            await self._ask(Request(rounds, worst_loss, patience))
            stopped = asyncio.create_task(stop.wait())
            events: set[asyncio.Future[Any]] = {self._last, stopped}
            await asyncio.wait(events, timeout=patience + MARGIN, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
        if not self._last.done():
            await self._ask(Request(rounds, worst_loss, HURRY))
            await asyncio.wait({self._last}, timeout=HURRY + MARGIN)
        return self._last.result() if self._last.done() else None

    async def close(self) -> None:
        """End the process."""
        self._end(None)
        if self._process is None or self._reader is None:
            return
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._reader

    async def _ask(self, request: Request) -> None:
        if self._process is None or self._process.stdin is None:
            return
        with suppress(ConnectionError):  # it has ended: `_read` says so
            self._process.stdin.write(request.to_line())
            await self._process.stdin.drain()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # noqa: S101 - asked for
        try:
            async for certificate in _certificates(process.stdout, self._rounds):
                self._take(certificate)
            if not self._last.done():
                self._fail(f"ended with exit code {await process.wait()}")
        except WireError as error:
            self._fail(f"wrote what is no certificate: {error}")
            with suppress(ProcessLookupError):
                process.kill()
        finally:
            self._end(None)  # whatever has happened: nobody is to wait for more

    def _take(self, certificate: Certificate) -> None:
        if certificate.final:
            self._end(certificate)
        else:
            self._found(certificate)

    def _fail(self, how: str) -> None:
        if self._last.done():
            return  # it has been ended, or has said its last
        log.error("the comparator's process %s: the run goes on without a certificate of its end", how)
        self._end(None)
        self._failed()

    def _end(self, certificate: Certificate | None) -> None:
        if not self._last.done():
            self._last.set_result(certificate)


async def _certificates(lines: asyncio.StreamReader, rounds: int) -> AsyncIterator[Certificate]:
    """Read certificates of at most `rounds` rounds, a line each."""
    try:
        async for line in lines:
            yield _parse(line, rounds)
    except (ValueError, TypeError, KeyError, OverflowError) as error:  # cut off, endless, or something else
        raise WireError("certificate", f"{type(error).__name__}: {error}") from None


def _parse(line: bytes, rounds: int) -> Certificate:
    fields = json.loads(line)
    found = Comparator(float(fields["value"]), float(fields["gap"]))
    losses = np.array(fields["losses"], dtype=np.float64)
    if losses.ndim != 1 or not 1 <= len(losses) <= rounds:
        raise ValueError(f"losses of shape {losses.shape} in {rounds} rounds")
    if not np.isfinite([found.value, found.gap, *losses]).all():
        raise ValueError("a number is not finite")
    return Certificate(found, losses, bool(fields["final"]))
