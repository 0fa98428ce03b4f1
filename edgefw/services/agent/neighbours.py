"""An agent among its neighbours: a frame to each of them, one from each, and who is waited for meanwhile."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from edgefw.services.clock import loop_time
from edgefw.transport.codec import encode_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
        meeting = _Meeting(frame, self._links, self._heard)
        if len(meeting.frames) < len(self._links):
            await self._all_there(meeting)
        return {j: meeting.frames[j] for j in self._links}

    async def _all_there(self, meeting: _Meeting) -> None:
        """Wait until all frames have come; meanwhile the log says now and then who is silent."""
        self._report_later(meeting)
        try:
            await meeting.whole
        finally:
            self._timer.cancel()
            meeting.end()

    def _report_later(self, meeting: _Meeting) -> None:
        self._timer = asyncio.get_running_loop().call_later(REPORT_WAIT, self._report, meeting)

    def _report(self, meeting: _Meeting) -> None:
        self._say_who_is_silent(meeting)
        self._report_later(meeting)

    def _heard(self, peer: int, waited: float) -> None:
        """Note that a neighbour's frame has come."""
        self._metrics.wait(peer, waited)
        if peer in self._silent:
            self._silent.remove(peer)
            self._metrics.waiting(peer, 0)

    def _say_who_is_silent(self, meeting: _Meeting) -> None:
        frame, waited = meeting.frame, meeting.waited()
        level = logging.ERROR if waited > self._timeout else logging.WARNING
        for link in meeting.silent():
            self._silent.add(link.peer)
            self._metrics.waiting(link.peer, waited)
            log.log(
                level,
                "agent %d waits for agent %d at (t, k) = (%d, %d) for %.1f s (timeout %.0f s, stream %s)",
                *(self._agent, link.peer, frame.t, frame.k, waited, self._timeout),
                "up" if link.up else "down",
            )


class _Meeting:
    """One exchange: which frames have come, and when all have. No task waits for a single frame."""

    def __init__(
        self, frame: Frame, links: Mapping[int, PeerLink], heard: Callable[[int, float], None]
    ) -> None:
        self.frame, self._links, self._heard = frame, links, heard
        self.frames: dict[int, Frame] = {}
        self.whole: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._begin = loop_time()
        for link in links.values():
            link.expect(frame.t, frame.k, self._came)

    def waited(self) -> float:
        """Return for how many seconds it has been going on."""
        return loop_time() - self._begin

    def silent(self) -> list[PeerLink]:
        """Return the links over which nothing has come."""
        return [link for j, link in self._links.items() if j not in self.frames]

    def end(self) -> None:
        """Expect nothing any more."""
        for link in self.silent():
            link.give_up()

    def _came(self, frame: Frame) -> None:
        self.frames[frame.agent] = frame
        self._heard(frame.agent, self.waited())
        if len(self.frames) == len(self._links):
            self.whole.set_result(None)
