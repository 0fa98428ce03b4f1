"""Connections that die without a word, over real sockets: a proxy holds the bytes and closes nothing."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from proxy import Proxy, proxy
from waiting import PATIENCE

from edgefw.transport import channel as module
from edgefw.transport.channel import ALIVE, ANSWER, CHANNEL_OPTIONS, GRPC
from edgefw.transport.server import RpcServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EVERYTHING = health_pb2.HealthCheckRequest(service="")


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let both ends ask for a sign of life ten times as often, and wait for it ten times as long."""
    told = {"grpc.keepalive_time_ms": ALIVE // 10, "grpc.keepalive_timeout_ms": 10 * ANSWER}
    options = tuple((name, told.get(name, value)) for name, value in CHANNEL_OPTIONS)
    monkeypatch.setattr(module, "CHANNEL_OPTIONS", options)


@asynccontextmanager
async def watched(latency: float = 0.0) -> AsyncIterator[tuple[Proxy, Any]]:
    """Yield a proxy to a server, and a quiet stream through it that stands."""
    server = RpcServer()
    port = await server.start("127.0.0.1:0")
    await server.ready()
    async with (
        asyncio.timeout(PATIENCE),
        proxy(f"127.0.0.1:{port}", latency) as network,
        GRPC.open_channel(network.address) as channel,
    ):
        stream = health_pb2_grpc.HealthStub(channel).Watch(EVERYTHING)
        assert (await stream.read()).status == health_pb2.HealthCheckResponse.SERVING
        yield network, stream
    await server.stop()


async def status(stream: Any) -> grpc.StatusCode:
    """Return what a stream ends with that says nothing more."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stream.read()
    code: grpc.StatusCode = caught.value.code()
    return code


def test_a_cut_ends_a_quiet_stream_within_seconds() -> None:
    async def test() -> None:
        async with watched() as (network, stream):
            network.cut()
            assert await status(stream) is grpc.StatusCode.UNAVAILABLE

    asyncio.run(test())


def test_the_server_ends_a_connection_whose_client_is_cut_off() -> None:
    async def test() -> None:
        async with watched() as (network, stream):
            network.cut()
            await network.left_by_server()
            assert await status(stream) is grpc.StatusCode.UNAVAILABLE

    asyncio.run(test())


@pytest.mark.usefixtures("often")
def test_a_quiet_stream_stands_for_as_long_as_the_other_end_answers() -> None:
    async def test() -> None:
        async with watched() as (network, stream):
            silence = asyncio.ensure_future(stream.read())
            for _ in range(32):  # signs of life, and nobody says that they are too many
                await network.carried_more()
            assert not silence.done()
            assert network.connections == 1

    asyncio.run(test())
