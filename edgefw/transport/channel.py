"""gRPC as a network of services: one set of options for every channel and server, and who may enter.

A connection can die without a word: a cable is cut, a container gets another address. So both ends ask for a
sign of life when they have heard nothing for a while, and end a connection that gives none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
from grpc_reflection.v1alpha import reflection

from edgefw.errors import InputError
from edgefw.http.guard import is_loopback
from edgefw.http.listening import listen_tcp
from edgefw.transport.credentials import NONE, TLS, TOKEN, TOKEN_FILE, Credentials
from edgefw.transport.door import Door, Guarded, nobody_counts, with_token

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgefw.http.listening import Connected, Listening
    from edgefw.transport.credentials import Tls

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

# What others may take up of a server. Who has no token makes no call, so its connections are soon at an end.
BOUNDS: Sequence[tuple[str, int]] = (
    ("grpc.max_allowed_incoming_connections", 512),  # each takes a file, of which a process has some 1,000
    ("grpc.max_concurrent_streams", 256),  # of one connection
    ("grpc.server_handshake_timeout_ms", 5_000),  # for whoever connects to say that it speaks HTTP/2, or TLS
    ("grpc.max_connection_idle_ms", 30_000),  # without a call; a service connects again when it has one
    ("grpc.max_metadata_size", 8 * 1024),
)


class GrpcTransport:
    """Services reach each other by gRPC; `credentials` are what they show to each other."""

    def __init__(self, credentials: Credentials = NONE) -> None:
        self._credentials = credentials
        tls = credentials.tls  # one object for all channels: those to one address share a connection
        self._tls = tls and grpc.ssl_channel_credentials(tls.authority, tls.key, tls.certificate)

    def open_channel(self, address: str, service: str = "") -> grpc.aio.Channel:
        """Return a channel to the service at host:port; its name is resolved when it is first used.

        Under TLS it has to be the one that is called `service` in its certificate, wherever it is.
        """
        if self._tls is None:
            channel = grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)
        else:
            named = (*CHANNEL_OPTIONS, ("grpc.ssl_target_name_override", service or "nobody"))
            channel = grpc.aio.secure_channel(address, self._tls, options=named)
        return with_token(channel, self._credentials)

    def listener(self, refused: Callable[[], None] = nobody_counts) -> GrpcListener:
        """Return a server that does not listen yet; `refused` is called for each call that may not enter."""
        return GrpcListener(Door(self._credentials, refused), self._credentials.tls)

    async def listen_http(self, connected: Connected, host: str, port: int) -> Listening:
        """Begin to listen for HTTP on a socket."""
        return await listen_tcp(connected, host, port)


class GrpcListener:
    """A gRPC server, with reflection."""

    def __init__(self, door: Door, tls: Tls | None) -> None:
        self._door, self._tls = door, tls
        guards = [Guarded(door)] if door.closed else []
        self._server = grpc.aio.server(options=(*CHANNEL_OPTIONS, *BOUNDS), interceptors=guards)
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
        if not (self._door.closed or self._tls or is_loopback(address.rpartition(":")[0])):
            raise InputError(
                f"the service would listen on {address}, where strangers can reach it: give it the run's "
                f"token ({TOKEN} or {TOKEN_FILE}) or a certificate ({TLS}), or keep it on 127.0.0.1"
            )
        reflection.enable_server_reflection((*self.services, reflection.SERVICE_NAME), self._server)
        try:
            port = self._add_port(address)
        except RuntimeError:
            raise InputError(f"cannot listen on {address}: the port is taken; end what uses it") from None
        await self._server.start()
        return port

    def _add_port(self, address: str) -> int:
        if self._tls is None:
            return int(self._server.add_insecure_port(address))
        own = [(self._tls.key, self._tls.certificate)]
        asked = grpc.ssl_server_credentials(own, self._tls.authority, require_client_auth=True)
        return int(self._server.add_secure_port(address, asked))

    async def stop(self, grace: float) -> None:
        """Take no more calls, let those under way end for a moment, then end them."""
        await self._server.stop(grace)


GRPC = GrpcTransport()
