"""Gossip between neighbours: one bidirectional stream an edge; the agent with the lower id dials."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.errors import WireError
from edgefw.transport.channel import GRPC
from edgefw.transport.connection import FIRST_MESSAGE, Attempts, Connection, ending, first_message
from edgefw.transport.credentials import service_name
from edgefw.transport.frames import read_message, write_message
from edgefw.transport.peer_link import PROTOCOL_VERSION, Identity, PeerLink
from edgefw.transport.refusals import PEERS, refusing
from edgefw.v1 import peer_service_pb2 as pb
from edgefw.v1.peer_service_pb2_grpc import PeerServiceServicer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgefw.telemetry.metrics import AgentMetrics
    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

SERVICE, METHOD = "edgefw.v1.PeerService", "Exchange"


def check_hello(me: Identity, message: Any, peers: Mapping[int, PeerLink]) -> pb.Hello:
    """Return a neighbour's Hello. Who is no neighbour, or is in another run, is told both sides' values."""
    if message is grpc.aio.EOF or isinstance(message, bytes) or message.WhichOneof("content") != "hello":
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
            caller.speaks_as(hello.agent)
            link = self._links[hello.agent]
            with link.open(hello) as stream:
                await context.write(pb.ExchangeResponse(hello=link.hello()))
                await stream.run(context)

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


def add_peer_servicer(servicer: PeerServicer, server: Any) -> None:
    """Do what the generated function does, but leave frames as they are: see `frames`."""
    read = partial(read_message, pb.ExchangeRequest.FromString)
    handler = grpc.stream_stream_rpc_method_handler(servicer.Exchange, read, write_message)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
    server.add_registered_method_handlers(SERVICE, {METHOD: handler})


def _open(channel: grpc.aio.Channel) -> Any:
    """Call the method as the generated stub does, but leave frames as they are."""
    read = partial(read_message, pb.ExchangeResponse.FromString)
    opener: Any = channel.stream_stream
    return opener(f"/{SERVICE}/{METHOD}", write_message, read, _registered_method=True)()


async def keep_dialling(
    me: Identity, link: PeerLink, address: str, metrics: AgentMetrics, transport: Transport = GRPC
) -> None:
    """Keep a stream to a neighbour with a higher id, for as long as the agent lives: the side that dials."""
    async with Connection(service_name(link.peer), address, transport) as connection:
        async for attempt in connection.attempts("exchange frames", _no_refusal):
            async with attempt as channel, ending(_open(channel)) as call:
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
        await stream.run(call)
    log.info("agent %d ended its stream", link.peer)


def _no_refusal(_error: grpc.aio.AioRpcError) -> None:
    """Try again: a neighbour that refuses may be about to join this agent's run, or this agent its run."""
