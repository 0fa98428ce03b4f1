"""Events: published, listened to, streamed."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from admin_stand_in import served
from waiting import PATIENCE

from edgefw.services.broker import events
from edgefw.services.broker.admin import stream
from edgefw.services.broker.events import MOST_LISTENERS, MOST_WAITING, Events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from admin_stand_in import Served


def test_a_listener_gets_what_it_asked_for_in_order() -> None:
    async def test() -> None:
        hub = Events()
        hub.publish("change", {"version": 1})  # nobody listens
        async with hub.subscribe() as all_, hub.subscribe(["change"]) as changes:
            for kind in ("change", "release", "change"):
                hub.publish(kind, {})
            assert [(e.number, e.kind) for e in await all_.take(1) or []] == [
                (2, "change"),
                (3, "release"),
                (4, "change"),
            ]
            assert [e.number for e in await changes.take(1) or []] == [2, 4]
            assert await changes.take(0.001) == []
        assert not hub.listeners

    asyncio.run(test())


def test_a_slow_listener_loses_the_oldest_and_is_told() -> None:
    async def test() -> None:
        hub = Events()
        async with hub.subscribe() as listener:
            for _ in range(MOST_WAITING + 3):
                hub.publish("release", {})
            got = await listener.take(1) or []
            assert (got[0].kind, got[0].data) == ("lost", {"count": 3})
            assert [e.number for e in got[1:]] == list(range(4, MOST_WAITING + 4))
            hub.publish("release", {})
            assert [e.kind for e in await listener.take(1) or []] == ["release"]

    asyncio.run(test())


def test_a_newcomer_gets_in_and_the_oldest_of_whoever_has_most_gives_way() -> None:
    async def test() -> None:
        hub = Events()
        alone, *greedy = [
            hub.subscribe(client="a"),
            *(hub.subscribe(client="b") for _ in range(MOST_LISTENERS - 1)),
        ]
        for listener in (alone, *greedy):
            await listener.__aenter__()
        async with hub.subscribe(client="c") as newcomer:
            assert len(hub.listeners) == MOST_LISTENERS
            hub.publish("change", {})
            assert await greedy[0].take(60) is None
            for listener in (alone, newcomer, *greedy[1:]):
                assert len(await listener.take(60) or []) == 1

    asyncio.run(test())


def test_a_closed_hub_ends_its_listeners() -> None:
    async def test() -> None:
        hub = Events()
        async with hub.subscribe() as listener:
            waiting = asyncio.create_task(listener.take(60))
            await asyncio.sleep(0)
            hub.close()
            assert await waiting is None
        async with hub.subscribe() as late:
            assert await late.take(60) is None

    asyncio.run(test())


def test_an_event_is_text_that_json_readers_understand() -> None:
    event = events.BrokerEvent(7, "release", {"agent": 3, "delays": (1.5, float("inf")), "name": "a\nb"})
    head, kind, data, *rest = event.text.decode().split("\n")
    assert (head, kind, rest) == ("id: 7", "event: release", ["", ""])
    told = json.loads(data.removeprefix("data: "))
    assert told == {"agent": 3, "delays": [1.5, None], "name": "a\nb"}


@contextmanager
def listening(endpoint: Served, query: str = "") -> Iterator[Iterator[str]]:
    """Yield the lines of a stream, which stands when the block begins."""
    with (
        httpx.Client(trust_env=False) as client,
        client.stream("GET", f"{endpoint.url}/events{query}", timeout=PATIENCE) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines).startswith(":")
        yield lines


def event(lines: Iterator[str]) -> dict[str, Any]:
    fields: dict[str, str] = {}
    for line in lines:
        if not line and "data" in fields:
            return {**fields, "data": json.loads(fields["data"])}
        name, _, value = line.partition(": ")
        if name:
            fields[name] = value
    raise AssertionError("the stream has ended")


def test_changes_and_releases_are_streamed() -> None:
    with served() as endpoint, listening(endpoint) as lines, listening(endpoint, "?kinds=change") as changes:
        endpoint.call(endpoint.control.events.publish, "release", {"agent": 3, "round": 1})
        httpx.post(f"{endpoint.url}/faults", json={"type": "drop"}, trust_env=False)
        assert event(lines) == {"id": "1", "event": "release", "data": {"agent": 3, "round": 1}}
        change = event(lines)
        assert (change["event"], change["data"]["what"], change["data"]["version"]) == ("change", "add", 2)
        assert event(changes) == change


def test_a_comment_shows_that_a_silent_stream_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT", 0.01)
    with served() as endpoint, listening(endpoint) as lines:
        assert [next(lines) for _ in range(4)] == ["", ": still here", "", ": still here"]


def test_a_reader_that_goes_is_forgotten_and_a_server_that_stops_ends_streams() -> None:
    with served() as endpoint:
        hub = endpoint.control.events
        with listening(endpoint):
            assert endpoint.call(len, hub.listeners) == 1
        for _ in range(1000):
            if not endpoint.call(len, hub.listeners):
                break
        else:
            pytest.fail("a listener was left behind")
        with listening(endpoint) as lines:
            endpoint.stop()
            assert list(lines) == [""]
