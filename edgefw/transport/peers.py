"""Gossip between neighbours: one bidirectional stream an edge; the agent with the lower id dials."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.errors import WireError
from edgefw.transport.channel import GRPC
from edgefw.transport.connection import FIRST_MESSAGE, Attempts, Connection, ending, first_message
from edgefw.transport.peer_link import PROTOCOL_VERSION, Identity, PeerLink
from edgefw.v1 import peer_service_pb2, peer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgefw.telemetry.metrics import AgentMetrics
    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

SERVICE_NAME = "edgefw.v1.PeerService"
_STATUS = {
    "digest": grpc.StatusCode.FAILED_PRECONDITION,
    "version": grpc.StatusCode.FAILED_PRECONDITION,
    "agent": grpc.StatusCode.FAILED_PRECONDITION,
    "resume": grpc.StatusCode.FAILED_PRECONDITION,
    "silent": grpc.StatusCode.DEADLINE_EXCEEDED,
    "replaced": grpc.StatusCode.ABORTED,
}  # by the reason of a WireError; any other one is an argument that is wrong


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
        try:
            await self._serve(context)
        except grpc.aio.InternalError:  # what gRPC raises, for a status too, where the other end has gone
            log.info("a stream broke")

    async def _serve(self, context: Any) -> None:
        peer = "unknown"
        try:
            hello = await self._hello(context)
            peer, link = str(hello.agent), self._links[hello.agent]
            with link.open(hello) as session:
                await context.write(peer_service_pb2.ExchangeResponse(hello=link.hello()))
                await session.run(context, peer_service_pb2.ExchangeResponse)
        except WireError as error:
            self._refused(peer, error)
            await context.abort(_STATUS.get(error.reason, grpc.StatusCode.INVALID_ARGUMENT), str(error))

    async def _hello(self, context: Any) -> peer_service_pb2.Hello:
        try:
            return check_hello(self._me, await first_message(context), self._links)
        except TimeoutError:
            raise WireError("silent", f"no Hello within {FIRST_MESSAGE:g} s") from None

    def _refused(self, peer: str, error: WireError) -> None:
        log.warning("ended a stream from agent %s: %s", peer, error)
        if error.reason != "replaced":  # which is no fault of the neighbour
            self._metrics.rejected(peer, error.reason)


async def keep_dialling(
    me: Identity, link: PeerLink, address: str, metrics: AgentMetrics, transport: Transport = GRPC
) -> None:
    """Keep a stream to a neighbour with a higher id, for as long as the agent lives: the side that dials."""
    async with Connection(f"agent {link.peer}", address, transport) as connection:
        async for attempt in connection.attempts("exchange frames", _no_refusal):
            async with attempt as channel:
                stub = peer_service_pb2_grpc.PeerServiceStub(channel)
                async with ending(stub.Exchange()) as call:
                    try:
                        await _exchange(me, link, call, attempt)
                    except WireError as error:
                        metrics.rejected(str(link.peer), error.reason)
                        log.warning("ended the stream to agent %d: %s", link.peer, error)


async def _exchange(me: Identity, link: PeerLink, call: Any, attempt: Attempts) -> None:
    """Say Hello, hear the neighbour's, and exchange frames until the stream ends."""
    await call.write(peer_service_pb2.ExchangeRequest(hello=link.hello()))
    hello = check_hello(me, await first_message(call), {link.peer: link})
    with link.open(hello) as session:
        attempt.worked()
        await session.run(call, peer_service_pb2.ExchangeRequest)
    log.info("agent %d ended its stream", link.peer)


def _no_refusal(_error: grpc.aio.AioRpcError) -> None:
    """Try again: a neighbour that refuses may be about to join this agent's run, or this agent its run."""
