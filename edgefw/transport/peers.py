"""Gossip between neighbours: one bidirectional stream an edge, whichever side opened it.

A `PeerLink` is one agent's end of an edge. It outlives its streams: when one breaks, the side with the lower
id dials again, both say Hello with the first (t, k) they still need, and each sends what it holds from there.
Neighbours are at most one exchange apart, so a link holds two frames each way at most.

Positions: the exchanges (t, k) of a run in order are numbered 0, 1, 2, ...; position (t-1) K + (k-1).
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import grpc

from edgefw.errors import WireError
from edgefw.transport.backoff import Backoff
from edgefw.transport.channel import open_channel
from edgefw.transport.codec import decode_frame, encode_frame
from edgefw.v1 import peer_service_pb2, peer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgefw.core.messages import Frame
    from edgefw.telemetry.metrics import AgentMetrics

log = logging.getLogger(__name__)

PROTOCOL_VERSION = 1
SERVICE_NAME = "edgefw.v1.PeerService"
_HELLO_PATIENCE = 10.0
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
        self._arrival, self._departure = asyncio.Event(), asyncio.Event()
        self._ended: asyncio.Event | None = None  # of the current stream: set when its writer is to end
        self._largest = 8 * math.prod(me.shape) + 1024  # two dense arrays, and room for the rest
        self.sent_bytes = 0
        metrics.peer_up(peer, up=False)

    @property
    def up(self) -> bool:
        """Whether a stream to the neighbour stands."""
        return self._ended is not None

    def hello(self) -> peer_service_pb2.Hello:
        """Return what this side says first: who it is and from where it needs frames."""
        first_missing = self._needed
        while first_missing in self._inbox:
            first_missing += 1
        t, k = divmod(first_missing, self._me.K)
        return peer_service_pb2.Hello(
            protocol_version=PROTOCOL_VERSION,
            agent=self._me.agent,
            scenario_digest=self._me.digest,
            resume_round=t + 1,
            resume_step=k + 1,
        )

    def send(self, frame: Frame) -> None:
        """Hand over a frame to be sent, now or when the stream stands again."""
        self._sent.append((self._position(frame.t, frame.k), encode_frame(frame)))
        self._departure.set()

    async def receive(self, t: int, k: int) -> Frame:
        """Return the neighbour's frame (t, k), waiting for it without end: the caller sets deadlines."""
        self._needed = self._position(t, k)
        while self._needed not in self._inbox:
            self._arrival.clear()
            await self._arrival.wait()
        frame = self._inbox.pop(self._needed)
        self._needed += 1
        return frame

    async def run(self, stream: Stream, hello: peer_service_pb2.Hello, wrap: Callable[..., Any]) -> None:
        """Use a stream, after both Hellos, until it ends; a newer stream takes an older one's place."""
        start = self._position(hello.resume_round, hello.resume_step)
        if self._sent and start < self._sent[0][0]:
            t, k = hello.resume_round, hello.resume_step
            raise WireError("resume", f"agent {self.peer} needs frames from {(t, k)} on, which are gone")
        self._end_current()
        ended = self._ended = asyncio.Event()
        writer = asyncio.create_task(self._write_all(stream, start, wrap, ended))
        self._metrics.peer_up(self.peer, up=True)
        try:
            await self._read_all(stream)
        finally:
            if self._ended is ended:
                self._end_current()
                self._metrics.peer_up(self.peer, up=False)
            # Not cancelled: gRPC cannot end a call with a status while a write of it is under way.
            await asyncio.wait({writer}, timeout=_LAST_WRITE)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)  # a broken stream breaks both halves

    def _end_current(self) -> None:
        """Let the writer of the current stream, if there is one, end after its write."""
        if self._ended is not None:
            self._ended.set()
            self._departure.set()
            self._ended = None

    async def _write_all(
        self, stream: Stream, start: int, wrap: Callable[..., Any], ended: asyncio.Event
    ) -> None:
        cursor = start
        while not ended.is_set():
            self._departure.clear()
            for position, message in list(self._sent):
                if position >= cursor and not ended.is_set():
                    await stream.write(wrap(frame=message))
                    cursor = position + 1
                    self._count_sent(message.ByteSize())
            await self._departure.wait()

    def _count_sent(self, size: int) -> None:
        self.sent_bytes += size
        self._metrics.frame(self.peer, "sent", size)

    async def _read_all(self, stream: Stream) -> None:
        while (message := await stream.read()) is not grpc.aio.EOF:
            if message.WhichOneof("content") != "frame":
                raise WireError("content", f"agent {self.peer} sent no frame after its Hello")
            self._take(message.frame)

    def _take(self, message: peer_service_pb2.Frame) -> None:
        """Check a frame and put it where `receive` finds it."""
        if message.ByteSize() > self._largest:
            raise WireError("oversize", f"agent {self.peer} sent a frame of {message.ByteSize()} bytes")
        position = self._position(message.round, message.step)
        missing = self._needed + (self._needed in self._inbox)
        if (
            message.step < 1
            or message.step > self._me.K
            or position != missing
            or position > self._needed + 1
        ):
            expected = divmod(missing, self._me.K)
            raise WireError(
                "unexpected",
                f"agent {self.peer} sent (t, k) = {(message.round, message.step)}, "
                f"expected {(expected[0] + 1, expected[1] + 1)}",
            )
        self._inbox[position] = decode_frame(message, self.peer, self._me.shape)
        self._metrics.frame(self.peer, "received", message.ByteSize())
        self._arrival.set()

    def _position(self, t: int, k: int) -> int:
        return (t - 1) * self._me.K + k - 1


def check_hello(me: Identity, message: Any, peers: Mapping[int, PeerLink]) -> peer_service_pb2.Hello:
    """Return the Hello of a neighbour; who is none, or is in another run, is told both sides' values."""
    if message is grpc.aio.EOF or message.WhichOneof("content") != "hello":
        raise WireError("hello", "the first message of a stream has to be a Hello")
    hello: peer_service_pb2.Hello = message.hello
    if hello.protocol_version != PROTOCOL_VERSION:
        raise WireError("version", f"protocol version {hello.protocol_version} meets {PROTOCOL_VERSION}")
    if hello.scenario_digest != me.digest:
        raise WireError(
            "digest", f"scenario {hello.scenario_digest[:64]!r} meets {me.digest!r}: not the same run"
        )
    if hello.agent not in peers:
        raise WireError(
            "agent", f"agent {hello.agent} is no neighbour of agent {me.agent}: {sorted(peers)} are"
        )
    return hello


class PeerServicer(peer_service_pb2_grpc.PeerServiceServicer):
    """The side that is dialled: takes the streams of neighbours with lower ids."""

    def __init__(self, me: Identity, links: Mapping[int, PeerLink], metrics: AgentMetrics) -> None:
        self._me, self._metrics = me, metrics
        self._links = {j: link for j, link in links.items() if j < me.agent}

    async def Exchange(self, _requests: Any, context: Any) -> None:  # noqa: N802 - the name in the proto
        """Serve one neighbour's stream; what cannot be used ends it with a status that says why."""
        peer = "unknown"
        try:
            async with asyncio.timeout(_HELLO_PATIENCE):
                hello = check_hello(self._me, await context.read(), self._links)
            peer, link = str(hello.agent), self._links[hello.agent]
            await context.write(peer_service_pb2.ExchangeResponse(hello=link.hello()))
            await link.run(context, hello, peer_service_pb2.ExchangeResponse)
        except WireError as error:
            self._metrics.rejected(peer, error.reason)
            log.warning("ended a stream from agent %s: %s", peer, error)
            await context.abort(_status(error), str(error))
        except grpc.aio.InternalError:  # what gRPC raises in a stream whose other end has gone
            log.info("the stream from agent %s broke", peer)
        except TimeoutError:
            self._metrics.rejected(peer, "silent")
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, f"no Hello within {_HELLO_PATIENCE:g} s")


def _status(error: WireError) -> grpc.StatusCode:
    mismatch = error.reason in {"digest", "version", "agent", "resume"}
    return grpc.StatusCode.FAILED_PRECONDITION if mismatch else grpc.StatusCode.INVALID_ARGUMENT


async def keep_dialling(me: Identity, link: PeerLink, address: str, metrics: AgentMetrics) -> None:
    """Keep a stream to a neighbour with a higher id, for as long as the agent lives: the side that dials."""
    backoff = Backoff()
    async with open_channel(address) as channel:
        stub = peer_service_pb2_grpc.PeerServiceStub(channel)
        while True:
            call = stub.Exchange()
            try:
                await call.write(peer_service_pb2.ExchangeRequest(hello=link.hello()))
                async with asyncio.timeout(_HELLO_PATIENCE):
                    hello = check_hello(me, await call.read(), {link.peer: link})
                backoff.reset()
                await link.run(call, hello, peer_service_pb2.ExchangeRequest)
                log.info("agent %d ended its stream", link.peer)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    log.warning("agent %d: %s: %s", link.peer, error.code().name, error.details())
            except (asyncio.InvalidStateError, TimeoutError):
                log.warning("agent %d does not answer at %s", link.peer, address)
            except WireError as error:
                metrics.rejected(str(link.peer), error.reason)
                log.warning("ended the stream to agent %d: %s", link.peer, error)
            finally:
                call.cancel()
            await backoff.pause()
