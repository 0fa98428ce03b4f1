"""A gRPC server with health and reflection: what every service listens with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from edgefw.errors import InputError
from edgefw.transport.channel import CHANNEL_OPTIONS

GRACE = 3.0  # seconds that calls under way get to end when a service stops

AddServicer = Callable[[grpc.aio.Server], None]


class GrpcServer:
    """Serves some services; not ready until it is told so."""

    def __init__(self) -> None:
        self._server = grpc.aio.server(options=CHANNEL_OPTIONS)
        self._health = health.aio.HealthServicer()
        self._names: list[str] = []

    async def start(self, address: str, servicers: Sequence[tuple[str, AddServicer]]) -> int:
        """Listen at host:port with these servicers, by their full names in the protos; return the port."""
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name, add in servicers:
            add(self._server)
            self._names.append(name)
        await self._set(health_pb2.HealthCheckResponse.NOT_SERVING)
        reflection.enable_server_reflection(
            (*self._names, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )
        try:
            port: int = self._server.add_insecure_port(address)
        except RuntimeError:
            raise InputError(f"cannot listen on {address}: the port is taken; end what uses it") from None
        await self._server.start()
        return port

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
