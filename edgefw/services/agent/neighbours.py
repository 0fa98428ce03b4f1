"""An agent among its neighbours: a frame to each of them, one from each, and who is waited for meanwhile."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from edgefw.services.clock import EXACT, loop_time
from edgefw.transport.frames import encode_frame

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
        self._meeting: _Meeting | None = None  # that goes on, if one does
        self._timer: asyncio.TimerHandle | None = None
        self.messages = 0  # frames handed over so far
        self.bytes_before = 0  # that an earlier life of the agent has sent

    @property
    def sent_bytes(self) -> int:
        """Bytes that have been sent so far."""
        return self.bytes_before + sum(link.sent_bytes for link in self._links.values())

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
        self._meeting = meeting
        if self._timer is None:
            self._report_at(meeting.report_at)
        try:
            await meeting.whole()
        finally:
            self._meeting = None
            meeting.end()

    def _report_at(self, moment: float) -> None:
        self._timer = asyncio.get_running_loop().call_at(moment, self._report)

    def _report(self) -> None:
        """Say who is silent, if it is time for that.

        The timer is not set anew for each exchange, of which there are thousands a second.
        """
        self._timer, meeting = None, self._meeting
        if meeting is None:
            return
        if meeting.report_at <= loop_time() + EXACT:
            self._say_who_is_silent(meeting)
            meeting.report_at += REPORT_WAIT
        self._report_at(meeting.report_at)

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
        self._whole: asyncio.Future[None] | None = None
        self._begin = loop_time()
        self.report_at = self._begin + REPORT_WAIT
        for link in links.values():
            link.expect(frame.t, frame.k, self._came)

    async def whole(self) -> None:
        """Wait until all frames have come, some of which have not."""
        self._whole = asyncio.get_running_loop().create_future()
        await self._whole

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
        if self._whole is not None and len(self.frames) == len(self._links):
            self._whole.set_result(None)
