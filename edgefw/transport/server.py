"""A server of a service with health, over whichever transport: what every service listens with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from edgefw.transport.channel import GRPC
from edgefw.transport.door import nobody_counts

if TYPE_CHECKING:
    from edgefw.transport.seam import Transport

GRACE = 3.0  # seconds that calls under way get to end when a service stops
_PAUSE = 0.1  # seconds before a server that went away is asked again

AddServicer = Callable[[Any], None]


class RpcServer:
    """Serves some services; not ready until it is told so."""

    def __init__(self, transport: Transport = GRPC, refused: Callable[[], None] = nobody_counts) -> None:
        """Serve whoever may enter; `refused` is called for each call that may not."""
        self._server = transport.listener(refused)
        self._health = health.aio.HealthServicer()
        self._names: tuple[str, ...] = ()

    async def start(self, address: str, *servicers: AddServicer) -> int:
        """Listen at host:port (0: any port) with servicers that generated code adds; return the port."""
        for add in servicers:
            add(self._server)
        self._names = ("", *self._server.services)  # "" asks for the health of the whole server
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        await self._set(health_pb2.HealthCheckResponse.NOT_SERVING)
        return await self._server.listen(address)

    async def ready(self) -> None:
        """Answer health checks with SERVING from now on."""
        await self._set(health_pb2.HealthCheckResponse.SERVING)

    async def stop(self) -> None:
        """Let calls under way end for a moment, then end them."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(GRACE)

    async def _set(self, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for name in self._names:
            await self._health.set(name, status)


async def until_serving(address: str, transport: Transport = GRPC, service: str = "") -> None:
    """Return when the service at `address` says that it is ready. The caller sets the deadline."""
    async with transport.open_channel(address, service) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while True:
            with suppress(grpc.aio.AioRpcError):  # the server went away again: it may come back
                async for answer in stub.Watch(health_pb2.HealthCheckRequest(), wait_for_ready=True):
                    if answer.status == health_pb2.HealthCheckResponse.SERVING:
                        return
            await asyncio.sleep(_PAUSE)
