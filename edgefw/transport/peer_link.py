"""One agent's end of an edge: frames to send, frames that came, and the stream that carries them.

A `PeerLink` outlives its streams. When one breaks, the side with the lower id dials again, both say Hello
with the first (t, k) that they still need, and each sends what it holds from there. Neighbours are at most
one exchange apart, so a link holds two frames each way at most.

An edge has one stream. A newer one takes the place of an older one, which then ends in both directions: its
other end hears of it and dials again. A Hello that does not fit what this side knows changes nothing.

Positions: the exchanges (t, k) of a run in order are numbered 0, 1, 2, ...; position (t-1) K + (k-1).
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import grpc

from edgefw.errors import WireError
from edgefw.transport.codec import decode_frame, encode_frame
from edgefw.v1 import peer_service_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgefw.core.messages import Frame
    from edgefw.telemetry.metrics import AgentMetrics

PROTOCOL_VERSION = 1
_LAST_WRITE = 1.0  # seconds for a write that is under way when a stream ends


@dataclass(frozen=True)
class Identity:
    """Who this agent is, in which run: what a Hello says, and what a frame has to look like."""

    agent: int
    digest: str
    K: int
    shape: tuple[int, int]


class Stream(Protocol):
    """Either end of a gRPC stream: a client's call or a server's context."""

    async def read(self) -> Any:
        """Return the next message, or grpc.aio.EOF."""
        ...

    async def write(self, message: Any) -> None:
        """Send a message."""
        ...


class PeerLink:
    """One agent's end of the edge to `peer`."""

    def __init__(self, me: Identity, peer: int, metrics: AgentMetrics) -> None:
        self.peer = peer
        self._me, self._metrics = me, metrics
        self._sent: deque[tuple[int, Any]] = deque(maxlen=2)  # (position, message)
        self._inbox: dict[int, Frame] = {}
        self._needed = 0  # the first position not yet taken out of the inbox
        self._arrival = asyncio.Event()
        self._session: Session | None = None
        self._largest = 8 * math.prod(me.shape) + 1024  # two dense arrays, and room for the rest
        self.sent_bytes = 0
        metrics.peer_up(peer, up=False)

    @property
    def up(self) -> bool:
        """Whether a stream to the neighbour stands."""
        return self._session is not None

    def hello(self) -> peer_service_pb2.Hello:
        """Return what this side says first: who it is and from where it needs frames."""
        t, k = self._exchange(self._missing)
        return peer_service_pb2.Hello(
            protocol_version=PROTOCOL_VERSION,
            agent=self._me.agent,
            scenario_digest=self._me.digest,
            resume_round=t,
            resume_step=k,
        )

    def send(self, frame: Frame) -> None:
        """Hand over a frame to be sent, now or when the stream stands again."""
        self._sent.append((self._position(frame.t, frame.k), encode_frame(frame)))
        if self._session is not None:
            self._session.wake()

    async def receive(self, t: int, k: int) -> Frame:
        """Return the neighbour's frame (t, k), waiting for it without end: the caller sets deadlines."""
        self._needed = self._position(t, k)
        while self._needed not in self._inbox:
            self._arrival.clear()
            await self._arrival.wait()
        frame = self._inbox.pop(self._needed)
        self._needed += 1
        return frame

    @contextmanager
    def open(self, hello: peer_service_pb2.Hello) -> Iterator[Session]:
        """Begin a stream with the neighbour who said `hello`: an older stream ends."""
        session = Session(self, self._resume(hello))
        if self._session is not None:
            self._session.end(replaced=True)
        self._session = session
        self._metrics.peer_up(self.peer, up=True)
        try:
            yield session
        finally:
            session.end()
            if self._session is session:
                self._session = None
                self._metrics.peer_up(self.peer, up=False)

    def _resume(self, hello: peer_service_pb2.Hello) -> int:
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

    def take(self, message: peer_service_pb2.Frame) -> None:
        """Check a frame and put it where `receive` finds it."""
        if message.ByteSize() > self._largest:
            raise WireError("oversize", f"agent {self.peer} sent a frame of {message.ByteSize()} bytes")
        position, missing = self._position(message.round, message.step), self._missing
        steps = 1 <= message.step <= self._me.K
        if not steps or position != missing or position > self._needed + 1:
            raise WireError(
                "unexpected",
                f"agent {self.peer} sent (t, k) = {(message.round, message.step)}, "
                f"expected {self._exchange(missing)}",
            )
        self._inbox[position] = decode_frame(message, self.peer, self._me.shape)
        self._metrics.frame(self.peer, "received", message.ByteSize())
        self._arrival.set()

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


class Session:
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

    async def run(self, stream: Stream, wrap: Callable[..., Any]) -> None:
        """Read and write until one of the two ends, or a newer stream takes this one's place."""
        reading = asyncio.create_task(self._read_all(stream))
        writing = asyncio.create_task(self._write_all(stream, wrap))
        over = asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait({reading, writing, over}, return_when=asyncio.FIRST_COMPLETED)
            self.end()
            # Not cancelled: gRPC cannot end a call with a status while a write of it is under way.
            await asyncio.wait({writing}, timeout=_LAST_WRITE)
            if self._replaced:
                raise WireError("replaced", f"agent {self._link.peer} has opened another stream")
            (reading if reading.done() else writing).result()
        finally:
            for task in (reading, writing, over):
                task.cancel()
            await asyncio.gather(reading, writing, over, return_exceptions=True)

    async def _write_all(self, stream: Stream, wrap: Callable[..., Any]) -> None:
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

    async def _read_all(self, stream: Stream) -> None:
        while (message := await stream.read()) is not grpc.aio.EOF and not self._over.is_set():
            if message.WhichOneof("content") != "frame":
                raise WireError("content", f"agent {self._link.peer} sent no frame after its Hello")
            self._link.take(message.frame)
