"""One agent's end of an edge: frames to send, frames that came, and the stream that carries them.

Theory of operation. The exchanges (t, k) of a run are numbered in order: position (t-1) K + (k-1). An agent
sends its frame of a position to all neighbours, and goes on to the next position when it has theirs. So
neighbours are at most one position apart, and a link holds two frames each way at most:

- sent: the last two. The neighbour may still need the older one, if it was lost with a stream.
- the inbox: what came and was not yet taken, at most the position that is needed and the one after it.

A `PeerLink` outlives its streams. When one breaks, the side with the lower id dials again. Both say Hello and
the first position that they have not got, and each sends what it holds from there. An example, K = 3:

    agent 0 has (1,2) of agent 1        Hello, I need (1,3) ->
                                        <- Hello, I need (1,2)        agent 1 has (1,1) of agent 0
    sends (1,2) again, then (1,3)                                     sends (1,3)

An edge has one stream. A newer one takes the place of an older one, which then ends in both directions: its
other end hears of it and dials again. A Hello that does not fit what this side knows changes nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.errors import WireError
from edgefw.transport.codec import decode_frame
from edgefw.transport.race import converse, race
from edgefw.v1 import peer_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgefw.core.messages import Frame
    from edgefw.telemetry.metrics import AgentMetrics

PROTOCOL_VERSION = 1


@dataclass(frozen=True)
class Identity:
    """Who this agent is, in which run: what a Hello says, and what a frame has to look like."""

    agent: int
    run_id: str
    K: int
    shape: tuple[int, int]


class PeerLink:
    """One agent's end of the edge to `peer`."""

    def __init__(self, me: Identity, peer: int, metrics: AgentMetrics) -> None:
        self.peer = peer
        self._me, self._metrics = me, metrics
        self._sent: deque[tuple[int, Any]] = deque(maxlen=2)  # (position, message)
        self._inbox: dict[int, Frame] = {}
        self._needed = 0  # the first position not yet taken out of the inbox
        self._came: Callable[[Frame], None] | None = None  # who expects the frame of that position
        self._stream: PeerStream | None = None
        self._largest = 8 * math.prod(me.shape) + 1024  # two dense arrays, and room for the rest
        self.sent_bytes = 0
        metrics.peer_up(peer, up=False)

    @property
    def up(self) -> bool:
        """Whether a stream to the neighbour stands."""
        return self._stream is not None

    def hello(self) -> pb.Hello:
        """Return what this side says first: who it is and from where it needs frames."""
        t, k = self._exchange(self._missing)
        return pb.Hello(
            protocol_version=PROTOCOL_VERSION,
            agent=self._me.agent,
            run_id=self._me.run_id,
            resume_round=t,
            resume_step=k,
        )

    def send(self, frame: pb.Frame) -> None:
        """Hand over a frame to be sent, now or when the stream stands again."""
        self._sent.append((self._position(frame.round, frame.step), frame))
        if self._stream is not None:
            self._stream.wake()

    def expect(self, t: int, k: int, came: Callable[[Frame], None]) -> None:
        """Hand the neighbour's frame (t, k) to `came`: now if it is there, else as soon as it is."""
        self._needed, self._came = self._position(t, k), came
        self._hand_over()

    def give_up(self) -> None:
        """Expect nothing any more."""
        self._came = None

    async def receive(self, t: int, k: int) -> Frame:
        """Return the neighbour's frame (t, k), waiting for it without end: the caller sets deadlines."""
        frame: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self.expect(t, k, frame.set_result)
        try:
            return await frame
        finally:
            self.give_up()

    def _hand_over(self) -> None:
        """Give the frame that is needed to whoever expects it."""
        if self._came is not None and self._needed in self._inbox:
            came, self._came = self._came, None
            frame = self._inbox.pop(self._needed)
            self._needed += 1
            came(frame)

    @contextmanager
    def open(self, hello: pb.Hello) -> Iterator[PeerStream]:
        """Begin a stream with the neighbour who said `hello`: an older stream ends."""
        stream = PeerStream(self, self._resume(hello))
        if self._stream is not None:
            self._stream.end(replaced=True)
        self._stream = stream
        self._metrics.peer_up(self.peer, up=True)
        try:
            yield stream
        finally:
            stream.end()
            if self._stream is stream:
                self._stream = None
                self._metrics.peer_up(self.peer, up=False)

    def _resume(self, hello: pb.Hello) -> int:
        """Return the position from which the neighbour needs frames.

        It has all frames but those that are held here, and it has sent what came: for that it needed ours.
        """
        t, k = hello.resume_round, hello.resume_step
        first = max(self._sent[0][0] if self._sent else 0, self._missing - 1)
        last = self._sent[-1][0] + 1 if self._sent else 0
        if t < 1 or not 1 <= k <= self._me.K or not first <= self._position(t, k) <= last:
            can = f"from {self._exchange(first)} to {self._exchange(last)}"
            raise WireError(
                "resume", f"agent {self.peer} needs frames from {(t, k)} on, which cannot be: {can}"
            )
        return self._position(t, k)

    def held(self, cursor: int) -> list[tuple[int, Any]]:
        """Return the frames that are held from a position on, by position."""
        return [(position, message) for position, message in self._sent if position >= cursor]

    def count_sent(self, size: int) -> None:
        """Count a frame that has been sent."""
        self.sent_bytes += size
        self._metrics.frame(self.peer, "sent", size)

    def take(self, message: pb.Frame) -> None:
        """Check a frame and put it where `receive` finds it."""
        if (size := message.ByteSize()) > self._largest:
            raise WireError("oversize", f"agent {self.peer} sent a frame of {size} bytes")
        position, missing = self._position(message.round, message.step), self._missing
        steps = 1 <= message.step <= self._me.K
        if not steps or position != missing or position > self._needed + 1:
            raise WireError(
                "unexpected",
                f"agent {self.peer} sent (t, k) = {(message.round, message.step)}, "
                f"expected {self._exchange(missing)}",
            )
        self._inbox[position] = decode_frame(message, self.peer, self._me.shape)
        self._metrics.frame(self.peer, "received", size)
        self._hand_over()

    @property
    def _missing(self) -> int:
        """The first position that has not come."""
        missing = self._needed
        while missing in self._inbox:
            missing += 1
        return missing

    def _position(self, t: int, k: int) -> int:
        return (t - 1) * self._me.K + k - 1

    def _exchange(self, position: int) -> tuple[int, int]:
        t, k = divmod(position, self._me.K)
        return t + 1, k + 1


class PeerStream:
    """One stream of a link, from both Hellos to its end."""

    def __init__(self, link: PeerLink, start: int) -> None:
        self._link, self._start = link, start
        self._news, self._over = asyncio.Event(), asyncio.Event()
        self._replaced = False

    def wake(self) -> None:
        """Tell that there is a frame to send."""
        self._news.set()

    def end(self, *, replaced: bool = False) -> None:
        """End both halves: nothing more is read or written, but for a write that is under way."""
        self._replaced = self._replaced or replaced
        self._over.set()
        self._news.set()

    async def run(self, stream: Any, wrap: Callable[..., Any]) -> None:
        """Read and write until one of the two ends, or a newer stream takes this one's place.

        `stream` is a client's call or a server's context; `wrap` makes a message of a frame.
        """
        reading = race(self._read_all(stream), self._end())
        await converse(reading, self._write_all(stream, wrap), hang_up=self.end)
        if self._replaced:
            raise WireError("replaced", f"agent {self._link.peer} has opened another stream")

    async def _end(self) -> None:
        await self._over.wait()

    async def _write_all(self, stream: Any, wrap: Callable[..., Any]) -> None:
        cursor = self._start
        while not self._over.is_set():
            self._news.clear()
            for position, message in self._link.held(cursor):
                if self._over.is_set():
                    return
                await stream.write(wrap(frame=message))
                cursor = position + 1
                self._link.count_sent(message.ByteSize())
            await self._news.wait()

    async def _read_all(self, stream: Any) -> None:
        while (message := await stream.read()) is not grpc.aio.EOF and not self._over.is_set():
            if message.WhichOneof("content") != "frame":
                raise WireError("content", f"agent {self._link.peer} sent no frame after its Hello")
            self._link.take(message.frame)
