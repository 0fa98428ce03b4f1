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
from edgefw.services.observer.comparing import Request
from edgefw.services.observer.scoring import Certificate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

log = logging.getLogger(__name__)

PATIENCE = 300.0  # seconds of search after the last round
HURRY = 3.0  # ... where the observer was told to stop
MARGIN = 3.0  # for the process to come to a request, and to certify what it has
_LONGEST_LINE = 64 * 1024 * 1024


class ComparatorProcess:
    """Searches for the best fixed point of a scenario; `found` is called with what it finds on the way."""

    def __init__(self, scenario_path: Path, found: Callable[[Certificate], None]) -> None:
        self._scenario_path, self._found = scenario_path, found
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._last: asyncio.Future[Certificate | None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Start the process."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "edgefw.services.observer.comparing", str(self._scenario_path)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            limit=_LONGEST_LINE,
        )
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
        if self._process is None or self._reader is None:
            return
        if not self._last.done():
            self._last.set_result(None)
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
        async for line in process.stdout:
            certificate = _parse(line)
            if not certificate.final:
                self._found(certificate)
            elif not self._last.done():
                self._last.set_result(certificate)
        if not self._last.done():
            self._last.set_result(None)
            log.error("the comparator's process ended with exit code %d", await process.wait())


def _parse(line: bytes) -> Certificate:
    fields = json.loads(line)
    comparator = Comparator(fields["value"], fields["gap"])
    return Certificate(comparator, np.array(fields["losses"]), fields["final"])
