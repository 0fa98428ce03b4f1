"""What a connection does with an app: bodies as the app takes them, failures, and the end."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from edgefw.http.answers import Answer
from edgefw.http.connection import Bounds, HttpConnection
from edgefw.http.guard import Guard
from edgefw.http.room import Room
from edgefw.http.server import HttpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import pytest
    from starlette.types import ASGIApp, Receive, Scope, Send

PATIENCE = 30.0
HOST = b"Host: localhost\r\n"
GET = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"
Open = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def run(app: ASGIApp, test: Callable[[HttpServer, Open], Coroutine[Any, Any, None]], **bounds: float) -> None:
    """Run a test with a connection to a server of an app."""

    async def bounded() -> None:
        server = HttpServer(Guard(app, names=frozenset()), "127.0.0.1", 0, Bounds(**bounds))  # type: ignore[arg-type]
        async with asyncio.timeout(PATIENCE):
            connection = await asyncio.open_connection("127.0.0.1", await server.start())
            try:
                await test(server, connection)
            finally:
                connection[1].close()
                await server.stop()

    asyncio.run(bounded())


async def answer(connection: Open) -> tuple[int, bytes]:
    head = await connection[0].readuntil(b"\r\n\r\n")
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    return int(head.split()[1]), await connection[0].readexactly(length)


async def count(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with how much was sent."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    await Answer(b"%d" % size)(scope, receive, send)


async def fail(*_: object) -> None:
    raise LookupError("what it needs is not there")


def test_a_body_reaches_the_app_however_it_is_sent() -> None:
    async def test(_server: HttpServer, connection: Open) -> None:
        for size in (0, 1, 300_000):
            connection[1].write(
                b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % size + b"x" * size
            )
            assert await answer(connection) == (200, b"%d" % size)
        chunks = b"5\r\nhello\r\n" * 1000 + b"0\r\n\r\n"
        connection[1].write(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
        assert await answer(connection) == (200, b"5000")

    run(count, test)


def test_who_asks_for_another_host_is_sent_to_look_for_it_again() -> None:
    """Its address may have changed hands: on a connection that is kept, the wrong one is asked for ever."""

    async def test(_server: HttpServer, connection: Open) -> None:
        connection[1].write(GET)
        assert (await answer(connection))[0] == 200
        connection[1].write(GET.replace(b"localhost", b"agent-1") + GET)
        assert (await answer(connection))[0] == 403
        assert await connection[0].read() == b""

    run(count, test)


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked() -> None:
    async def test(_server: HttpServer, connection: Open) -> None:
        head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        connection[1].write(head)
        assert (await answer(connection))[0] == 100
        connection[1].write(b"hello")
        assert await answer(connection) == (200, b"5")

    run(count, test)


def test_a_body_that_nobody_looks_at_is_read_past() -> None:
    async def test(_server: HttpServer, connection: Open) -> None:
        for _ in range(2):
            connection[1].write(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 500000\r\n\r\n")
            connection[1].write(b"x" * 500_000)
            assert await answer(connection) == (200, b"no matter what")

    run(Answer(b"no matter what"), test)


def test_an_app_that_fails_is_told_of_in_the_log_and_in_the_one_shape_of_errors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test(_server: HttpServer, connection: Open) -> None:
        connection[1].write(GET)
        status, body = await answer(connection)
        assert (status, json.loads(body)["status"]) == (500, 500)
        assert await connection[0].read() == b""

    run(fail, test)
    assert "what it needs is not there" in caplog.text


def test_a_server_that_stops_lets_an_answer_under_way_be_given() -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        asked.set()
        await go_on.wait()
        await Answer(b"at last")(scope, receive, send)

    async def test(server: HttpServer, connection: Open) -> None:
        connection[1].write(GET)
        await asked.wait()
        stopping = asyncio.create_task(server.stop())
        await asyncio.sleep(0)
        go_on.set()
        assert await answer(connection) == (200, b"at last")
        assert await connection[0].read() == b""
        await stopping

    run(slow, test)


def test_what_goes_on_too_long_is_ended_when_the_server_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgefw.http.server.LAST_ANSWERS", 0.01)
    asked = asyncio.Event()

    async def endless(*_: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    async def test(server: HttpServer, connection: Open) -> None:
        connection[1].write(GET)
        await asked.wait()
        await server.stop()
        assert b" 200 " not in await connection[0].read()

    run(endless, test)


class _NeverClosed:
    """The writer of a connection whose other end does not read what was sent."""

    transport: Any = None

    def close(self) -> None:
        """Begin to close."""

    async def wait_closed(self) -> None:
        await asyncio.Event().wait()


def test_a_connection_that_is_cancelled_while_it_closes_leaves_its_place() -> None:
    async def cancelled() -> int:
        reader, room = asyncio.StreamReader(), Room[HttpConnection](1)
        reader.feed_data(b"no request\r\n\r\n")
        writer: Any = _NeverClosed()
        connection = HttpConnection(fail, Bounds(), reader, writer)
        connection._refuse = lambda *_: None  # type: ignore[method-assign]
        serving = asyncio.create_task(connection.serve(room))
        for _ in range(8):  # far enough to be closing
            await asyncio.sleep(0)
        assert len(room) == 1
        serving.cancel()
        await asyncio.wait({serving})
        return len(room)

    assert asyncio.run(cancelled()) == 0
