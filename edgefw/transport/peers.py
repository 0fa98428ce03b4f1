"""Gossip between neighbours: one bidirectional stream an edge; the agent with the lower id dials."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.errors import WireError
from edgefw.transport.channel import GRPC
from edgefw.transport.connection import FIRST_MESSAGE, Attempts, Connection, ending, first_message
from edgefw.transport.peer_link import PROTOCOL_VERSION, Identity, PeerLink
from edgefw.transport.refusals import PEERS, refusing
from edgefw.v1 import peer_service_pb2 as pb
from edgefw.v1.peer_service_pb2_grpc import PeerServiceServicer, PeerServiceStub

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgefw.telemetry.metrics import AgentMetrics
    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)


def check_hello(me: Identity, message: Any, peers: Mapping[int, PeerLink]) -> pb.Hello:
    """Return a neighbour's Hello. Who is no neighbour, or is in another run, is told both sides' values."""
    if message is grpc.aio.EOF or message.WhichOneof("content") != "hello":
        raise WireError("hello", "the first message of a stream has to be a Hello")
    hello: pb.Hello = message.hello
    if hello.protocol_version != PROTOCOL_VERSION:
        raise WireError("version", f"protocol version {hello.protocol_version} meets {PROTOCOL_VERSION}")
    if hello.run_id != me.run_id:
        raise WireError("digest", f"scenario {hello.run_id[:64]!r} meets {me.run_id!r}: not the same run")
    if hello.agent not in peers:
        raise WireError(
            "agent", f"agent {hello.agent} is no neighbour of agent {me.agent}: {sorted(peers)} are"
        )
    return hello


class PeerServicer(PeerServiceServicer):
    """The side that is dialled: takes the streams of neighbours with lower ids."""

    def __init__(self, me: Identity, links: Mapping[int, PeerLink], metrics: AgentMetrics) -> None:
        self._me, self._metrics = me, metrics
        self._links = {j: link for j, link in links.items() if j < me.agent}

    async def Exchange(self, _requests: Any, context: Any) -> None:  # noqa: N802 - the name in the proto
        """Serve one neighbour's stream; what cannot be used ends it with a status that says why."""
        async with refusing(context, PEERS, self._refused) as caller:
            hello = await self._hello(context)
            caller.agent, link = hello.agent, self._links[hello.agent]
            with link.open(hello) as stream:
                await context.write(pb.ExchangeResponse(hello=link.hello()))
                await stream.run(context, pb.ExchangeResponse)

    async def _hello(self, context: Any) -> pb.Hello:
        try:
            return check_hello(self._me, await first_message(context), self._links)
        except TimeoutError:
            raise WireError("silent", f"no Hello within {FIRST_MESSAGE:g} s") from None

    def _refused(self, agent: int | None, error: WireError) -> None:
        peer = "unknown" if agent is None else str(agent)
        log.warning("ended a stream from agent %s: %s", peer, error)
        if error.reason != "replaced":  # which is no fault of the neighbour
            self._metrics.rejected(peer, error.reason)


async def keep_dialling(
    me: Identity, link: PeerLink, address: str, metrics: AgentMetrics, transport: Transport = GRPC
) -> None:
    """Keep a stream to a neighbour with a higher id, for as long as the agent lives: the side that dials."""
    async with Connection(f"agent {link.peer}", address, transport) as connection:
        async for attempt in connection.attempts("exchange frames", _no_refusal):
            async with attempt as channel, ending(PeerServiceStub(channel).Exchange()) as call:
                try:
                    await _exchange(me, link, call, attempt)
                except WireError as error:
                    metrics.rejected(str(link.peer), error.reason)
                    log.warning("ended the stream to agent %d: %s", link.peer, error)


async def _exchange(me: Identity, link: PeerLink, call: Any, attempt: Attempts) -> None:
    """Say Hello, hear the neighbour's, and exchange frames until the stream ends."""
    await call.write(pb.ExchangeRequest(hello=link.hello()))
    hello = check_hello(me, await first_message(call), {link.peer: link})
    with link.open(hello) as stream:
        attempt.worked()
        await stream.run(call, pb.ExchangeRequest)
    log.info("agent %d ended its stream", link.peer)


def _no_refusal(_error: grpc.aio.AioRpcError) -> None:
    """Try again: a neighbour that refuses may be about to join this agent's run, or this agent its run."""
