"""The endpoint of /metrics and /healthz, and clients that take more than their share of it."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Gauge

from edgefw.telemetry import endpoint as telemetry
from edgefw.telemetry.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

PATIENCE = 30.0
SOON = 0.05
Open = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def listening(
    registry: CollectorRegistry | None = None, patience: float = PATIENCE, *, healthy: bool = True
) -> AsyncIterator[int]:
    made = Endpoint(registry or CollectorRegistry(), lambda: healthy, patience=patience)
    try:
        yield await made.start("127.0.0.1", 0)
    finally:
        await made.stop()


async def connect(port: int) -> Open:
    return await asyncio.open_connection("127.0.0.1", port)


async def rest(connection: Open) -> bytes:
    try:
        return await connection[0].read()
    except ConnectionError:
        return b""
    finally:
        connection[1].close()


async def ask(port: int, request: bytes) -> bytes:
    connection = await connect(port)
    connection[1].write(request)
    return await rest(connection)


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await test()

    asyncio.run(bounded())


def test_it_answers_what_it_knows() -> None:
    async def test() -> None:
        registry = CollectorRegistry()
        Gauge("answer", "To everything.", registry=registry).set(42)
        async with listening(registry) as port:
            assert b"answer 42.0" in await ask(port, b"GET /metrics HTTP/1.1\r\n\r\n")
            assert b" 200 OK" in await ask(port, b"GET /healthz?x=1 HTTP/1.1\r\n\r\n")
            assert b" 404 " in await ask(port, b"GET /targets HTTP/1.1\r\n\r\n")
            assert b" 405 " in await ask(port, b"POST /metrics HTTP/1.1\r\n\r\n")
        async with listening(healthy=False) as port:
            assert b" 503 " in await ask(port, b"GET /healthz HTTP/1.1\r\n\r\n")

    run(test)


def test_where_there_are_targets_it_tells_them_as_they_are_now() -> None:
    async def test() -> None:
        known = [{"targets": ["agent-0:9464"], "labels": {"job": "agent"}}]
        endpoint = Endpoint(CollectorRegistry(), lambda: True, lambda: known)
        port = await endpoint.start("127.0.0.1", 0)
        for _ in range(2):
            head, _, body = (await ask(port, b"GET /targets HTTP/1.1\r\n\r\n")).partition(b"\r\n\r\n")
            assert b"Content-Type: application/json" in head
            assert b"Content-Length: %d" % len(body) in head
            assert json.loads(body) == known
            known.append({"targets": ["broker:9464"], "labels": {"job": "broker"}})
        await endpoint.stop()

    run(test)


def test_a_request_that_is_too_long_or_never_whole_is_ended() -> None:
    async def test() -> None:
        async with listening() as port:
            assert await ask(port, b"GET /healthz HTTP/1.1\r\n" + b"a: b\r\n" * 100_000) == b""
        async with listening(patience=SOON) as port:
            assert await ask(port, b"GET /healthz HTTP/1.1\r\n") == b""

    run(test)


def test_a_reader_who_does_not_read_is_dropped() -> None:
    async def test() -> None:
        registry = CollectorRegistry()
        Gauge("long", "x" * 20_000_000, registry=registry)  # more than any socket takes
        async with listening(registry, SOON) as port:
            client = socket.create_connection(("127.0.0.1", port))
            with client:
                client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                while asyncio.all_tasks() - {asyncio.current_task()}:  # noqa: ASYNC110 - of the connection
                    await asyncio.sleep(0.01)
                loop = asyncio.get_running_loop()
                client.setblocking(False)
                received = 0
                try:
                    while piece := await loop.sock_recv(client, 1_000_000):
                        received += len(piece)
                except ConnectionError:
                    pass
                assert received < 20_000_000

    run(test)


def test_many_silent_connections_keep_no_newcomer_out() -> None:
    async def test() -> None:
        async with listening() as port:
            silent = [await connect(port) for _ in range(telemetry._CONNECTIONS + 3)]
            assert b" 200 OK" in await ask(port, b"GET /healthz HTTP/1.1\r\n\r\n")
            assert [await rest(each) for each in silent[:4]] == [b""] * 4
            for _, writer in silent[4:]:
                writer.close()

    run(test)


def test_it_stops_though_a_client_is_connected() -> None:
    async def test() -> None:
        async with listening() as port:
            connection = await connect(port)
            assert b" 200 OK" in await ask(port, b"GET /healthz HTTP/1.1\r\n\r\n")
        assert await rest(connection) == b""

    run(test)
