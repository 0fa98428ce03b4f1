"""The one seam to the network: what a service needs of it, whichever it is.

There are two: gRPC (`channel`), and memory (`memory`), for services that share a process. The same agents,
brokers and observers run over either: they are handed one, and know no more of it than this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpc.aio import Channel

    from edgefw.http.listening import Connected, Listening


class RpcListener(Protocol):
    """A server to which generated code adds its servicers."""

    services: list[str]  # the full names of those that were added

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Serve what these handlers know."""

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """Serve the methods of a service."""

    async def listen(self, address: str) -> int:
        """Begin to listen at host:port (0: any port); return the port."""

    async def stop(self, grace: float) -> None:
        """Take no more calls, let those under way end for a moment, then end them."""


class Transport(Protocol):
    """A network."""

    def open_channel(self, address: str, service: str = ...) -> Channel:
        """Return a channel to the service at host:port, which has to be `service` where that is proved."""

    def listener(self, refused: Callable[[], None] = ...) -> RpcListener:
        """Return a server that does not listen yet; `refused` is called for each call that may not enter."""

    async def listen_http(self, connected: Connected, host: str, port: int) -> Listening:
        """Begin to listen for HTTP, which services speak beside their calls."""
