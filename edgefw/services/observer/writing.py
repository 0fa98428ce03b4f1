"""The observer's way to its disk: what is to be written is, however long the disk will not take it.

A disk may be full, or read-only. Then agents are not answered, keep what they report, and wait when they have
kept too much. When the disk takes it again, all goes on from there.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from edgefw.errors import DiskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import Gauge

    from edgefw.services.machine import Worker

log = logging.getLogger(__name__)

RETRY = 1.0  # seconds between two tries
T = TypeVar("T")


class Writing:
    """Has work done on a worker that writes, until it is; when the run is `over` it is tried no more."""

    def __init__(self, worker: Worker, over: asyncio.Event, degraded: Gauge) -> None:
        self._worker, self._over, self._degraded = worker, over, degraded
        self._refused = False

    async def do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what the work comes to; a DiskError only if there is no more time."""
        while True:
            try:
                result = await self._worker.do(work, *arguments)
            except DiskError as error:
                if self._over.is_set():
                    raise
                self._note(error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), RETRY)
            else:
                self._note(None)
                return result

    def _note(self, error: DiskError | None) -> None:
        """Say when the disk begins to refuse, and when it takes what it is given again."""
        if error is not None and not self._refused:
            log.error("%s: agents keep what they report until it can be written", error)
        if error is None and self._refused:
            log.info("the disk takes the record of the run again")
        self._refused = error is not None
        self._degraded.set(self._refused)
