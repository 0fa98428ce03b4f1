"""gRPC as a network of services: one set of options for every channel and server, and where TLS will go.

A connection can die without a word: a cable is cut, a container gets another address. So both ends ask for a
sign of life when they have heard nothing for a while, and end a connection that gives none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
from grpc_reflection.v1alpha import reflection

from edgefw.errors import InputError
from edgefw.http.listening import listen_tcp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.http.listening import Connected, Listening

LARGEST_MESSAGE = 16 * 1024 * 1024
LARGEST_PAYLOAD = LARGEST_MESSAGE - 1024  # room for the envelope: what was accepted can be delivered

ALIVE = 2_000  # milliseconds without a byte before a connection is asked for a sign of life
ANSWER = 3_000  # ... and that it has for its answer; then the connection is ended
CONNECT = 3_000  # milliseconds that a name may take to be resolved, and an address to accept a connection

CHANNEL_OPTIONS: Sequence[tuple[str, int]] = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    ("grpc.max_send_message_length", LARGEST_MESSAGE),
    ("grpc.enable_http_proxy", 0),  # a proxy of the user's is for the internet, not for services of a run
    ("grpc.so_reuseport", 0),  # a taken port is an error, not a silent share
    ("grpc.keepalive_time_ms", ALIVE),
    ("grpc.keepalive_timeout_ms", ANSWER),
    ("grpc.http2.ping_timeout_ms", ANSWER),  # a ping that is under way stands for the one that asks
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),  # ask as often as is written above, also on a quiet stream
    ("grpc.http2.max_ping_strikes", 0),  # ... and let the other end ask
    ("grpc.min_reconnect_backoff_ms", CONNECT),  # in spite of its name: the time that connecting may take
    ("grpc.initial_reconnect_backoff_ms", 100),  # services of a run start together: try again at once
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.dns_ares_query_timeout", CONNECT),
    ("grpc.dns_min_time_between_resolutions_ms", 100),  # a service that was moved has another address
)


class GrpcTransport:
    """Services reach each other by gRPC."""

    def open_channel(self, address: str) -> grpc.aio.Channel:
        """Return a channel to the service at host:port; its name is resolved when it is first used."""
        return grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)

    def listener(self) -> GrpcListener:
        """Return a server that does not listen yet."""
        return GrpcListener()

    async def listen_http(self, connected: Connected, host: str, port: int) -> Listening:
        """Begin to listen for HTTP on a socket."""
        return await listen_tcp(connected, host, port)


class GrpcListener:
    """A gRPC server, with reflection."""

    def __init__(self) -> None:
        self._server = grpc.aio.server(options=CHANNEL_OPTIONS)
        self.services: list[str] = []

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Serve what these handlers know."""
        self._server.add_generic_rpc_handlers(handlers)

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """Serve the methods of a service."""
        self.services.append(service)
        self._server.add_registered_method_handlers(service, handlers)

    async def listen(self, address: str) -> int:
        """Begin to listen; return the port."""
        reflection.enable_server_reflection((*self.services, reflection.SERVICE_NAME), self._server)
        try:
            port: int = self._server.add_insecure_port(address)
        except RuntimeError:
            raise InputError(f"cannot listen on {address}: the port is taken; end what uses it") from None
        await self._server.start()
        return port

    async def stop(self, grace: float) -> None:
        """Take no more calls, let those under way end for a moment, then end them."""
        await self._server.stop(grace)


GRPC = GrpcTransport()
