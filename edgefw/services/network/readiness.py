"""Whether a service is ready: gRPC health checks, followed until the answer is SERVING."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from edgefw.transport.channel import GRPC

PAUSE = 0.1


async def until_serving(address: str) -> None:
    """Return when the gRPC server at `address` says SERVING. The caller sets the deadline."""
    async with GRPC.open_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while True:
            with suppress(grpc.aio.AioRpcError):  # the server went away again: it may come back
                async for answer in stub.Watch(health_pb2.HealthCheckRequest(), wait_for_ready=True):
                    if answer.status == health_pb2.HealthCheckResponse.SERVING:
                        return
            await asyncio.sleep(PAUSE)
