"""The one server: it listens, and serves a guarded app over connections within bounds."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from edgefw.http.connection import Bounds, HttpConnection
from edgefw.http.listening import listen_tcp
from edgefw.http.room import Room

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.http.guard import Guard
    from edgefw.http.listening import ByteReader, ByteWriter, Listen, Listening

log = logging.getLogger(__name__)

LAST_ANSWERS = 2.0  # seconds for calls that are under way when the server stops


class HttpServer:
    """Serves an app between `start` and `stop`; `ending` is called first of all when it stops.

    It may end what would go on for ever, such as streams of events.
    """

    def __init__(
        self,
        app: Guard,
        host: str,
        port: int,
        bounds: Bounds | None = None,
        ending: Callable[[], None] = lambda: None,
        listen: Listen = listen_tcp,
    ) -> None:
        self._app, self._bounds, self._ending = app, bounds or Bounds(), ending
        self._host, self.port, self._listen = host, port, listen
        self._room: Room[HttpConnection] = Room(self._bounds.connections)
        self._tasks: set[asyncio.Task[None]] = set()  # each serves a connection
        self._server: Listening | None = None

    async def start(self) -> int:
        """Listen; return the port (0 asks for a free one)."""
        self._server = await self._listen(self._connected, self._host, self.port)
        self.port = self._server.port
        return self.port

    async def stop(self) -> None:
        """Stop listening, finish calls under way for a moment, then end."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        self._ending()
        for connection in self._room:
            connection.finish()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LAST_ANSWERS)
        self._room.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await server.wait_closed()

    def _connected(self, reader: ByteReader, writer: ByteWriter) -> None:
        connection = HttpConnection(self._app, self._bounds, reader, writer)
        task = asyncio.create_task(connection.serve(self._room))
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("an answer failed", exc_info=error)
