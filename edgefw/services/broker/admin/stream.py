"""GET /events: a stream of server-sent events that ends with its reader, or with the endpoint."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from edgefw.transport.race import race

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import Receive, Scope, Send

    from edgefw.services.broker.events import Events, Listener

HEARTBEAT = 15.0  # seconds of silence after which a comment shows that the stream still stands
PAUSE = 0.02  # seconds between two writes: a thousand events a second travel in fifty pieces
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """The answer to one listener; it goes on until somebody ends it."""

    def __init__(self, events: Events, kinds: Collection[str], heartbeat: float = HEARTBEAT) -> None:
        self._events, self._kinds, self._heartbeat = events, kinds, heartbeat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until one side has had enough."""
        client = (scope.get("client") or ("", 0))[0]
        async with self._events.subscribe(self._kinds, client) as listener:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await race(self._send(listener, send), _gone(receive))

    async def _send(self, listener: Listener, send: Send) -> None:
        text = b": here\n\n"  # a first piece, so that a reader knows that it listens
        while True:
            await send({"type": "http.response.body", "body": text, "more_body": True})
            await asyncio.sleep(PAUSE)
            events = await listener.take(self._heartbeat)
            if events is None:
                break
            text = b"".join(event.text for event in events) or b": still here\n\n"
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    """Wait until the reader has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
