"""The comparator's search as the observer sees it: certificates that come, one last one on request."""

from __future__ import annotations

import asyncio
import logging
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from edgefw.errors import WireError
from edgefw.services.observer.comparing import Request, Search
from edgefw.services.observer.scoring import Certificate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from edgefw.services.machine import Helper, Machine

log = logging.getLogger(__name__)

PATIENCE = 300.0  # seconds of search after the last round
HURRY = 3.0  # ... where the observer was told to stop
MARGIN = 3.0  # for the helper to come to a request, and to certify what it has
COMMAND = (sys.executable, "-m", "edgefw.services.observer.comparing")
_LONGEST_LINE = 64 * 1024 * 1024


class ComparatorSearch:
    """Searches for the best fixed point of a scenario, over `rounds` rounds.

    `found` is called with what it finds on the way; `failed`, should it fail: then nothing more comes.
    """

    def __init__(
        self,
        scenario_path: Path,
        rounds: int,
        found: Callable[[Certificate], None],
        failed: Callable[[], None],
        machine: Machine,
    ) -> None:
        self._scenario_path, self._rounds, self._found, self._failed = scenario_path, rounds, found, failed
        self._machine = machine
        self._helper: Helper | None = None
        self._reader: asyncio.Task[None] | None = None
        self._last: asyncio.Future[Certificate | None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Start the helper."""
        path = str(self._scenario_path)
        try:
            self._helper = await self._machine.helper((*COMMAND, path), partial(Search, path), _LONGEST_LINE)
        except OSError as error:
            self._fail(f"cannot be started: {error}")
        else:
            self._reader = asyncio.create_task(self._read(self._helper))

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
        """End the helper."""
        self._end(None)
        if self._helper is not None and self._reader is not None:
            self._helper.kill()
            await self._helper.wait()
            await self._reader

    async def _ask(self, request: Request) -> None:
        if self._helper is not None:
            await self._helper.ask(request.to_line())

    async def _read(self, helper: Helper) -> None:
        try:
            async for line in helper.lines():
                self._take(Certificate.from_line(line, self._rounds))
            if not self._last.done():
                self._fail(f"ended with exit code {await helper.wait()}")
        except WireError as error:
            self._fail(f"wrote what is no certificate: {error}")
            helper.kill()
        finally:
            self._end(None)  # whatever has happened: nobody is to wait for more

    def _take(self, certificate: Certificate) -> None:
        if certificate.final:
            self._end(certificate)
        else:
            self._found(certificate)

    def _fail(self, how: str) -> None:
        if not self._last.done():  # else it has been ended, or has said its last
            log.error("the comparator's helper %s: the run goes on without a certificate of its end", how)
            self._end(None)
            self._failed()

    def _end(self, certificate: Certificate | None) -> None:
        if not self._last.done():
            self._last.set_result(certificate)
