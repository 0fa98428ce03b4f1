"""A server of a service, over whichever transport, with health: what every service listens with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from edgefw.transport.channel import GRPC

if TYPE_CHECKING:
    from edgefw.transport.seam import Transport

GRACE = 3.0  # seconds that calls under way get to end when a service stops

AddServicer = Callable[[Any], None]


class RpcServer:
    """Serves some services; not ready until it is told so."""

    def __init__(self, transport: Transport = GRPC) -> None:
        self._server = transport.listener()
        self._health = health.aio.HealthServicer()
        self._names: list[str] = []

    async def start(self, address: str, servicers: Sequence[tuple[str, AddServicer]]) -> int:
        """Listen at host:port with these servicers, by their full names in the protos; return the port."""
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name, add in servicers:
            add(self._server)
            self._names.append(name)
        await self._set(health_pb2.HealthCheckResponse.NOT_SERVING)
        return await self._server.listen(address, (*self._names, health.SERVICE_NAME))

    async def ready(self) -> None:
        """Answer health checks with SERVING from now on."""
        await self._set(health_pb2.HealthCheckResponse.SERVING)

    async def stop(self) -> None:
        """Let calls under way end for a moment, then end them."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(GRACE)

    async def _set(self, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for name in ("", *self._names):
            await self._health.set(name, status)
