"""GET /events: a stream of server-sent events that ends with its reader, or with the endpoint."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from edgefw.http.streaming import gone, send_all
from edgefw.transport.race import race

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection

    from starlette.types import Receive, Scope, Send

    from edgefw.services.broker.events import Events, Listener

HEARTBEAT = 15.0  # seconds of silence after which a comment shows that the stream still stands
PAUSE = 0.02  # seconds between two writes: a thousand events a second travel in fifty pieces


class EventStream:
    """The answer to one listener; it goes on until somebody ends it."""

    def __init__(self, events: Events, kinds: Collection[str]) -> None:
        self._events, self._kinds = events, kinds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until one side has had enough."""
        client = (scope.get("client") or ("", 0))[0]
        async with self._events.subscribe(self._kinds, client) as listener:
            await race(send_all(self._pieces(listener), send), gone(receive))

    async def _pieces(self, listener: Listener) -> AsyncGenerator[bytes, None]:
        yield b": here\n\n"  # so that a reader knows that it listens
        while True:
            await asyncio.sleep(PAUSE)
            events = await listener.take(HEARTBEAT)
            if events is None:
                return
            yield b"".join(event.text for event in events) or b": still here\n\n"
