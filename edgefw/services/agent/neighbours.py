"""An agent among its neighbours: a frame to each of them, one from each, and who is waited for meanwhile."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from edgefw.services.clock import loop_time
from edgefw.transport.codec import encode_frame
from edgefw.transport.race import end_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from edgefw.core.messages import Frame
    from edgefw.telemetry.metrics import AgentMetrics
    from edgefw.transport.peer_link import PeerLink

log = logging.getLogger(__name__)

REPORT_WAIT = 1.0  # seconds of waiting for neighbours before the log says for whom, and again after each


class Neighbours:
    """All links of one agent; after `timeout` seconds without a frame a neighbour's silence is an error."""

    def __init__(
        self, agent: int, links: Mapping[int, PeerLink], timeout: float, metrics: AgentMetrics
    ) -> None:
        self._agent, self._links, self._timeout, self._metrics = agent, links, timeout, metrics
        self._silent: set[int] = set()  # those of whom the log has said so
        self.messages = 0  # frames handed over so far

    @property
    def sent_bytes(self) -> int:
        """Bytes that have been sent so far."""
        return sum(link.sent_bytes for link in self._links.values())

    async def exchange(self, frame: Frame) -> dict[int, Frame]:
        """Send a frame to all neighbours; return theirs of the same (t, k), waiting without end."""
        encoded = encode_frame(frame)  # once: it is the same for all
        for link in self._links.values():
            link.send(encoded)
        self.messages += len(self._links)
        tasks = {j: asyncio.create_task(self._receive(link, frame)) for j, link in self._links.items()}
        try:
            await self._all_there(tasks, frame)
            return {j: task.result() for j, task in tasks.items()}
        finally:
            if waiting := [task for task in tasks.values() if not task.done()]:
                await end_all(waiting)

    async def _receive(self, link: PeerLink, sent: Frame) -> Frame:
        begin = loop_time()
        frame = await link.receive(sent.t, sent.k)
        self._metrics.wait(link.peer, loop_time() - begin)
        if link.peer in self._silent:
            self._silent.remove(link.peer)
            self._metrics.waiting(link.peer, 0)
        return frame

    async def _all_there(self, tasks: Mapping[int, asyncio.Task[Frame]], frame: Frame) -> None:
        begin, pending = loop_time(), set(tasks.values())
        while pending:
            _, pending = await asyncio.wait(pending, timeout=REPORT_WAIT)
            silent = (link for j, link in self._links.items() if tasks[j] in pending)
            self._say_who_is_silent(silent, frame, loop_time() - begin)

    def _say_who_is_silent(self, silent: Iterable[PeerLink], frame: Frame, waited: float) -> None:
        level = logging.ERROR if waited > self._timeout else logging.WARNING
        for link in silent:
            self._silent.add(link.peer)
            self._metrics.waiting(link.peer, waited)
            log.log(
                level,
                "agent %d waits for agent %d at (t, k) = (%d, %d) for %.1f s (timeout %.0f s, stream %s)",
                *(self._agent, link.peer, frame.t, frame.k, waited, self._timeout),
                "up" if link.up else "down",
            )
