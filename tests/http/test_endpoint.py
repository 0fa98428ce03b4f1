"""What every service answers, and clients that take more than their share of it."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Gauge
from told_clock import Clock

from edgefw.http.answers import Answer
from edgefw.http.connection import Bounds
from edgefw.http.endpoint import service_routes
from edgefw.http.guard import Guard
from edgefw.http.server import HttpServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

PATIENCE = 30.0
SOON = 0.05
END = b"Host: agent-3:9464\r\nConnection: close\r\n\r\n"
Open = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def listening(
    registry: CollectorRegistry | None = None,
    bounds: Bounds | None = None,
    *,
    healthy: bool = True,
    **more: Any,
) -> AsyncIterator[int]:
    routes = service_routes(registry or CollectorRegistry(), lambda: healthy, **more)
    made = HttpServer(Guard(routes, names=frozenset({"agent-3"})), "127.0.0.1", 0, bounds)
    try:
        yield await made.start()
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


async def ask(port: int, request: bytes, head: bytes = END) -> bytes:
    connection = await connect(port)
    connection[1].write(request + b" HTTP/1.1\r\n" + head)
    return await rest(connection)


def run(test: Callable[[], Coroutine[None, None, None]], clock: Clock | None = None) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await test()

    if clock is None:
        asyncio.run(bounded())
    else:
        clock.run(test())


def test_it_answers_what_it_knows() -> None:
    async def test() -> None:
        registry = CollectorRegistry()
        Gauge("answer", "To everything.", registry=registry).set(42)
        async with listening(registry) as port:
            assert b"answer 42.0" in await ask(port, b"GET /metrics")
            assert (await ask(port, b"GET /healthz?x=1")).endswith(b"\r\n\r\nok\n")
            assert b" 404 " in await ask(port, b"GET /targets")
            refused = await ask(port, b"POST /metrics")
            assert b" 405 " in refused
            assert b"\r\nallow: GET\r\n" in refused
        async with listening(healthy=False) as port:
            assert b" 503 " in await ask(port, b"GET /healthz")

    run(test)


def test_a_head_is_an_answer_without_its_body() -> None:
    async def test() -> None:
        async with listening() as port:
            assert (await ask(port, b"HEAD /healthz")).endswith(b"\r\n\r\n")

    run(test)


def test_where_there_are_targets_it_tells_them_as_they_are_now() -> None:
    async def test() -> None:
        known = [{"targets": ["agent-0:9464"], "labels": {"job": "agent"}}]
        async with listening(targets=lambda: known) as port:
            for _ in range(2):
                head, _, body = (await ask(port, b"GET /targets")).partition(b"\r\n\r\n")
                assert b"content-type: application/json" in head
                assert b"content-length: %d" % len(body) in head
                assert json.loads(body) == known
                known.append({"targets": ["broker:9464"], "labels": {"job": "broker"}})

    run(test)


def test_other_paths_may_be_another_apps() -> None:
    async def test() -> None:
        async with listening(otherwise=Answer(b"a page", content_type="text/html")) as port:
            assert (await ask(port, b"GET /")).endswith(b"a page")
            assert (await ask(port, b"GET /healthz")).endswith(b"ok\n")

    run(test)


def test_a_page_of_another_site_does_not_read_along() -> None:
    async def test() -> None:
        async with listening() as port:
            for head in (
                b"Host: evil.example",
                b"Host: agent-3\r\nOrigin: http://evil.example",
                b"Host: observer",
            ):
                answer = await ask(port, b"GET /metrics", head + b"\r\nConnection: close\r\n\r\n")
                assert b" 403 " in answer
                assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] == 403

    run(test)


def test_a_connection_serves_one_request_after_the_other() -> None:
    async def test() -> None:
        async with listening() as port:
            reader, writer = await connect(port)
            for _ in range(3):
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert (await reader.readuntil(b"ok\n")).startswith(b"HTTP/1.1 200")
            writer.close()

    run(test)


def test_a_request_that_is_too_long_or_never_whole_is_ended() -> None:
    async def test() -> None:
        async with listening() as port:
            assert b" 200 " not in await ask(port, b"GET /healthz", b"a: b\r\n" * 100_000)
        async with listening(bounds=Bounds(request=SOON)) as port:
            assert await ask(port, b"GET /healthz", b"") == b""

    run(test)


def test_what_is_no_request_is_refused_in_the_one_shape_of_errors() -> None:
    async def test() -> None:
        async with listening() as port:
            answer = await ask(port, b"no request at all")
            assert b" 400 " in answer
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] == 400

    run(test)


def test_a_client_that_asks_for_nothing_more_is_let_go() -> None:
    async def test() -> None:
        async with listening(bounds=Bounds(idle=SOON)) as port:
            answer = await ask(port, b"GET /healthz", b"Host: localhost\r\n\r\n")
            assert answer.endswith(b"ok\n")

    run(test)


def test_a_reader_who_does_not_read_is_dropped() -> None:
    clock, much = Clock(), 20_000_000  # more than any socket takes

    async def test() -> None:
        registry = CollectorRegistry()
        Gauge("long", "x" * much, registry=registry)
        async with listening(registry) as port:
            client = socket.create_connection(("127.0.0.1", port))
            with client:
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
                loop = asyncio.get_running_loop()
                client.setblocking(False)
                received = len(await loop.sock_recv(client, 1))  # an answer has begun
                while asyncio.all_tasks() - {asyncio.current_task()}:  # of the connection
                    clock.advance(Bounds().stall)
                    await asyncio.sleep(0)
                try:
                    while piece := await loop.sock_recv(client, 1_000_000):
                        received += len(piece)
                except ConnectionError:
                    pass
                assert received < much

    run(test, clock)


def test_many_silent_connections_keep_no_newcomer_out() -> None:
    async def test() -> None:
        async with listening() as port:
            silent = [await connect(port) for _ in range(Bounds().connections + 3)]
            assert b" 200 " in await ask(port, b"GET /healthz")
            assert [await rest(each) for each in silent[:4]] == [b""] * 4
            for _, writer in silent[4:]:
                writer.close()

    run(test)


def test_it_stops_though_a_client_is_connected() -> None:
    async def test() -> None:
        async with listening() as port:
            connection = await connect(port)
            assert b" 200 " in await ask(port, b"GET /healthz")
        assert await rest(connection) == b""

    run(test)


def test_an_agent_loads_no_web_framework_for_it() -> None:
    program = (
        "import sys, edgefw.services.agent.service;"
        "sys.exit(any(name in sys.modules for name in ('starlette', 'fastapi', 'pydantic', 'anyio')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
