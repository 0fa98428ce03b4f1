"""The page's routes: what they answer, how a stream goes on and ends, and what they refuse."""

from __future__ import annotations

import asyncio
import base64
import json
import select
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import numpy as np
import page_client
import page_server
import pytest
from page_client import Exchange, ask
from waiting import PATIENCE

from edgefw.page import app as app_module
from edgefw.page.app import MOST_STREAMS
from edgefw.page.telling import Teller

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

ASSETS = ["page.css", "page.js", "story.js", "graph.js", "charts.js", "controls.js", "looks.js", "icon.svg"]


def test_the_page_and_all_it_asks_for_are_there() -> None:
    app = page_client.app(page_client.story())
    page = ask(app, "/")
    assert page.status == 200
    assert page.given["content-type"].startswith("text/html")
    policy = page.given["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    for name in [*ASSETS, "bokeh.min.js"]:
        assert ask(app, f"/assets/{name}").status == 200, name
    assert b"http" not in page.content.replace(b"<!doctype html>", b"")


@pytest.mark.parametrize("path", ["/assets/", "/assets/../app.py", "/assets/%2e", "/page/", "/nothing"])
def test_there_is_nothing_else(path: str) -> None:
    answer = ask(page_client.app(page_client.story()), path)
    assert answer.status == 404
    assert "error" in json.loads(answer.content)


def test_only_reading_is_for_the_page() -> None:
    assert ask(page_client.app(page_client.story()), "/", "POST").status == 405


def test_what_it_says_of_the_run() -> None:
    app = page_client.app(page_client.story(4))
    about = json.loads(ask(app, "/page/about").content)
    assert (about["agents"], about["live"], about["clock"]) == (4, True, "rounds")
    story = json.loads(ask(app, "/page/story").content)
    assert story["first"] == 0
    assert ask(app, "/page/prepared").content == b"{}"


def test_without_bokeh_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "installed", lambda: False)
    answer = ask(page_client.app(page_client.story()), "/")
    assert answer.status == 501
    assert answer.content.decode().splitlines() == [
        "the page cannot be shown: it needs Bokeh, which is not installed: pip install 'edgefw[ui]'"
    ]


def test_calls_to_the_broker_go_to_whoever_forwards_them() -> None:
    seen = []

    async def forward(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope["method"], scope["path"]))
        await page_client.app(page_client.story())(
            {**scope, "path": "/page/about", "method": "GET"}, receive, send
        )

    assert ask(page_client.app(page_client.story(), forward), "/admin/links/0", "PATCH").status == 200
    assert seen == [("PATCH", "/admin/links/0")]


def messages(content: bytes) -> list[dict[str, object]]:
    parts = [part for part in content.decode().split("\n\n") if part.startswith("id: ")]
    return [json.loads(part.partition("\ndata: ")[2]) for part in parts]


async def until_told(exchange: Exchange, count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(messages(exchange.content)) < count:
            exchange.news.clear()
            await exchange.news.wait()


def test_a_stream_tells_what_is_new_until_its_reader_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "TICK", 0.001)

    async def scene() -> None:
        story = page_client.story(3, 5)
        exchange = Exchange(page_client.app(story), "/page/stream")
        running = asyncio.create_task(exchange.run())
        await until_told(exchange, 1)
        page_client.go_on(story, 2)
        await until_told(exchange, 2)
        assert [message["first"] for message in messages(exchange.content)] == [0, 5]
        exchange.gone.set()
        await asyncio.wait_for(running, PATIENCE)

    asyncio.run(scene())


def test_who_comes_back_is_told_what_it_missed() -> None:
    story = page_client.story(3, 5)
    app = page_client.app(story)

    async def scene() -> None:
        first = Exchange(app, "/page/stream")
        running = asyncio.create_task(first.run())
        await until_told(first, 1)
        first.gone.set()
        await running
        mark = first.content.decode().partition("\n")[0].removeprefix("id: ")
        page_client.go_on(story, 1)
        again = Exchange(app, "/page/stream", headers={"Last-Event-ID": mark})
        running = asyncio.create_task(again.run())
        await until_told(again, 1)
        assert messages(again.content)[0]["first"] == 5
        again.gone.set()
        await running

    asyncio.run(scene())


def test_nothing_piles_up_for_a_reader_who_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "TICK", 0.0001)

    async def scene() -> None:
        story, reads = page_client.story(3, 5), asyncio.Event()
        exchange, made = Exchange(page_client.app(story), "/page/stream"), list[str | None]()
        send, message = exchange._send, Teller.message

        async def stuck(sent: Message) -> None:
            await send(sent)
            if sent["type"] == "http.response.body":
                await reads.wait()

        def counted(teller: Teller, since: str | None = None) -> tuple[str, bytes]:
            made.append(since)
            return message(teller, since)

        monkeypatch.setattr(exchange, "_send", stuck)
        monkeypatch.setattr(Teller, "message", counted)
        running = asyncio.create_task(exchange.run())
        await until_told(exchange, 1)
        for _ in range(50):  # the run goes on, and nothing is made for who has not taken the first
            page_client.go_on(story, 1)
            await asyncio.sleep(0)
        assert len(made) == 1
        reads.set()
        await until_told(exchange, 2)
        assert messages(exchange.content)[1]["first"] == 5  # all that was missed, in one
        exchange.gone.set()
        await running

    asyncio.run(scene())


def test_who_connects_and_never_reads_holds_up_nobody() -> None:
    story = page_client.story(200, 100)
    with page_server.serving(page_client.app(story)) as served, ExitStack() as dead:
        address = urlsplit(served.url)
        for _ in range(5):
            reader = dead.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)  # far less than the first message
            reader.connect((address.hostname, address.port))
            reader.sendall(b"GET /page/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            select.select([reader], [], [], PATIENCE)  # it is being written to
        for t in (101, 102):  # the run goes on, and whoever reads is told at once
            served.call(page_client.go_on, story, 1)
            told = httpx.get(f"{served.url}page/story", timeout=PATIENCE).json()
            assert np.frombuffer(base64.b64decode(told["rounds"]), "<f4")[-1] == t


def test_the_end_of_the_run_ends_streams_after_a_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "TICK", 100.0)

    async def scene() -> None:
        story = page_client.story(3, 5)
        app = page_client.app(story)
        exchange = Exchange(app, "/page/stream")
        running = asyncio.create_task(exchange.run())
        await until_told(exchange, 1)
        page_client.go_on(story, 1)
        app.close()
        await asyncio.wait_for(running, PATIENCE)
        assert [message["first"] for message in messages(exchange.content)] == [0, 5]
        late = await asyncio.wait_for(Exchange(app, "/page/stream").run(), PATIENCE)
        assert len(messages(late.content)) == 1

    asyncio.run(scene())


def test_a_newcomer_gets_in_and_the_oldest_goes() -> None:
    async def scene() -> None:
        app = page_client.app(page_client.story(3, 5))
        exchanges = [Exchange(app, "/page/stream") for _ in range(MOST_STREAMS + 1)]
        running = []
        for exchange in exchanges:
            running.append(asyncio.create_task(exchange.run()))
            await until_told(exchange, 1)
        await asyncio.wait_for(running[0], PATIENCE)
        assert not any(task.done() for task in running[1:])
        for exchange in exchanges:
            exchange.gone.set()
        await asyncio.gather(*running)

    asyncio.run(scene())


def test_what_takes_long_is_made_once_for_all() -> None:
    made = []

    async def scene() -> None:
        app = page_client.app(page_client.story())
        begun = asyncio.Event()

        async def prepare() -> bytes:
            made.append(1)
            await begun.wait()
            return b"[]"

        app._prepare = prepare
        asking = [asyncio.create_task(Exchange(app, "/page/prepared").run()) for _ in range(3)]
        await asyncio.sleep(0)
        begun.set()
        assert [exchange.content for exchange in await asyncio.gather(*asking)] == [b"[]"] * 3

    asyncio.run(scene())
    assert made == [1]
