"""What strangers may take up of a gRPC server, over real sockets: connections, streams, sizes and time."""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from waiting import PATIENCE, eventually

from edgefw.transport import channel as module
from edgefw.transport.channel import BOUNDS, GRPC, GrpcTransport
from edgefw.transport.credentials import Credentials
from edgefw.transport.server import RpcServer, until_serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

MANY = 1000
CONNECTIONS = dict(BOUNDS)["grpc.max_allowed_incoming_connections"]
STREAMS = dict(BOUNDS)["grpc.max_concurrent_streams"]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = bytes(3) + b"\x04" + bytes(5)
EVERYTHING = health_pb2.HealthCheckRequest(service="")
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server be patient for a tenth of its time."""
    told = {"grpc.server_handshake_timeout_ms", "grpc.max_connection_idle_ms"}
    bounds = tuple((name, value // 10 if name in told else value) for name, value in BOUNDS)
    monkeypatch.setattr(module, "BOUNDS", bounds)


def files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@asynccontextmanager
async def served(transport: GrpcTransport = GRPC) -> AsyncIterator[int]:
    server = RpcServer(transport)
    port = await server.start("127.0.0.1:0")
    await server.ready()
    try:
        async with asyncio.timeout(2 * PATIENCE):
            yield port
    finally:
        await server.stop()


async def connections(port: int, count: int) -> list[Connection]:
    return [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]


async def until_ended(reader: asyncio.StreamReader) -> None:
    """Read until the server ends a connection, in whichever way."""
    try:
        while await reader.read(65_536):
            pass
    except ConnectionError:
        pass


def run(test: Callable[[int], Awaitable[None]], transport: GrpcTransport = GRPC) -> None:
    async def body() -> None:
        async with served(transport) as port:
            await test(port)

    asyncio.run(body())


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    "said",
    [b"", b"PRI * HT", PREFACE + SETTINGS, b"GET / HTTP/1.1\r\n\r\n"],
    ids=["nothing", "half", "all", "http"],
)
def test_a_thousand_connections_are_bounded_and_end_and_others_are_served(said: bytes) -> None:
    async def test(port: int) -> None:
        before = files()
        crowd = await connections(port, MANY)
        for _, writer in crowd:
            writer.write(said)
        ends = [asyncio.create_task(until_ended(reader)) for reader, _ in crowd]
        assert files() - before <= MANY + CONNECTIONS + 50, "theirs, and those that were let in"
        await until_serving(f"127.0.0.1:{port}")
        await asyncio.gather(*ends)
        for _, writer in crowd:
            writer.close()
        await eventually(lambda: files() <= before + 20, "all files are given back")

    run(test)


def test_random_bytes_end_their_connection_alone() -> None:
    chance = random.Random(5)

    async def test(port: int) -> None:
        before = files()
        async with GRPC.open_channel(f"127.0.0.1:{port}") as channel:
            stream = health_pb2_grpc.HealthStub(channel).Watch(EVERYTHING)
            assert (await stream.read()).status == health_pb2.HealthCheckResponse.SERVING
            for i in range(300):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write((PREFACE if i % 2 else b"") + chance.randbytes(chance.randrange(1, 5000)))
                writer.write_eof()
                await until_ended(reader)
                writer.close()
            assert not stream.done()
        await until_serving(f"127.0.0.1:{port}")
        await eventually(lambda: files() <= before + 20, "all files are given back")

    run(test)


def test_a_connection_has_so_many_streams_at_a_time_though_nobody_reads_them() -> None:
    async def test(port: int) -> None:
        async with GRPC.open_channel(f"127.0.0.1:{port}") as channel, AsyncExitStack() as stack:
            stub, answered = health_pb2_grpc.HealthStub(channel), list[Any]()

            async def watch() -> None:
                call = stub.Watch(EVERYTHING)
                stack.callback(call.cancel)
                await call.read()
                answered.append(call)

            await stub.Check(EVERYTHING)  # from here on the client knows how many it may have
            waiting = [asyncio.create_task(watch()) for _ in range(STREAMS + 20)]
            await eventually(lambda: len(answered) >= STREAMS)
            assert len(answered) == STREAMS
            for call in answered[:20]:
                call.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)  # one too many waits, or is refused
            assert await stub.Check(EVERYTHING)

    run(test)


def test_metadata_and_messages_have_a_largest_size() -> None:
    right = GrpcTransport(Credentials("the-token-of-this-run"))

    async def test(port: int) -> None:
        address = f"127.0.0.1:{port}"
        async with GRPC.open_channel(address) as stranger, right.open_channel(address) as channel:
            told = (("edgefw-join-token", "x" * 100_000),)
            with pytest.raises(grpc.aio.AioRpcError, match="RESOURCE_EXHAUSTED"):
                await health_pb2_grpc.HealthStub(stranger).Check(EVERYTHING, metadata=told)
            large = health_pb2.HealthCheckRequest(service="x" * (module.LARGEST_MESSAGE + 1))
            with pytest.raises(grpc.aio.AioRpcError, match="RESOURCE_EXHAUSTED"):
                await health_pb2_grpc.HealthStub(channel).Check(large)
            assert await health_pb2_grpc.HealthStub(channel).Check(EVERYTHING)

    run(test, right)


def test_a_server_takes_fewer_connections_than_a_process_may_have_files() -> None:
    assert CONNECTIONS < 1024 - 256, "the usual limit, less the files of everything else"
    assert os.sysconf("SC_OPEN_MAX") > MANY + CONNECTIONS, "what these tests need themselves"
