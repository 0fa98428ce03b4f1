"""GET /events: a stream of server-sent events that ends with its reader, or with the endpoint."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import Receive, Scope, Send

    from edgefw.services.broker.admin.events import Events, Listener

HEARTBEAT = 15.0  # seconds of silence after which a comment shows that the stream still stands
PAUSE = 0.02  # seconds between two writes: a thousand events a second travel in fifty pieces
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventStream(Response):
    """The answer to one listener."""

    media_type = "text/event-stream"

    def __init__(self, events: Events, kinds: Collection[str], heartbeat: float = HEARTBEAT) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]  # it goes on until somebody ends it
        self._events, self._kinds, self._heartbeat = events, kinds, heartbeat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until one side has had enough."""
        client = (scope.get("client") or ("", 0))[0]
        async with self._events.subscribe(self._kinds, client) as listener:
            await self._serve(listener, receive, send)

    async def _serve(self, listener: Listener, receive: Receive, send: Send) -> None:
        head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(head)
        tasks = {asyncio.create_task(self._send(listener, send)), asyncio.create_task(_gone(receive))}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

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
