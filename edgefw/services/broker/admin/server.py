"""The admin endpoint's server: uvicorn in the running loop, without its own signal handlers and logs."""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn

from edgefw.errors import InputError
from edgefw.services.broker.admin.connection import BoundedConnection, Bounds
from edgefw.services.broker.admin.guard import is_loopback
from edgefw.telemetry.room import Room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI


@dataclass(frozen=True)
class AdminOptions:
    """Where the endpoint listens, and to whom: `names` are host names that it may be called by."""

    host: str
    port: int
    token: str | None = None
    names: frozenset[str] = frozenset()
    open_: bool = False


LAST_ANSWERS = 2  # seconds for calls that are under way when the server stops
_BACKLOG = 256


def check_listen(host: str, *, token: str | None, open_: bool) -> None:
    """Refuse to listen where strangers could change delays."""
    if not (is_loopback(host) or token or open_):
        raise InputError(
            f"the admin endpoint would listen on {host}, where others can reach it: give it a token "
            "(--admin-token or EDGEFW_ADMIN_TOKEN), keep it on 127.0.0.1, or say --admin-open"
        )


class _Server(uvicorn.Server):
    """A part of a service: signals are the service's."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and tell so."""
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signal handlers alone."""
        yield


class AdminServer:
    """Serves an app (see `make_app`) between `start` and `stop`."""

    def __init__(self, app: FastAPI, host: str, port: int, bounds: Bounds | None = None) -> None:
        self._app, self._host, self._asked = app, host, port
        bounds = bounds or Bounds()
        connection: Any = partial(BoundedConnection, bounds, Room(bounds.connections))
        config = uvicorn.Config(
            app,
            access_log=False,
            h11_max_incomplete_event_size=bounds.head,
            http=connection,
            lifespan="off",
            log_config=None,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=LAST_ANSWERS,
            ws="none",
        )
        self._server = _Server(config)
        self._serving: asyncio.Task[None] | None = None
        self.port = port

    async def start(self) -> int:
        """Listen; return the port (0 asks for a free one)."""
        bound = await self._bind()
        self.port = bound.getsockname()[1]
        self._serving = asyncio.create_task(self._server.serve([bound]), name="admin endpoint")
        listening = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait({self._serving, listening}, return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if self._serving.done():  # it never came to listen
            bound.close()
            self._serving.result()
        return self.port

    async def stop(self) -> None:
        """End event streams, finish calls under way for a moment, then end."""
        if self._serving is None:
            return
        self._app.state.control.events.close()
        self._server.should_exit = True
        await self._serving
        self._serving = None

    async def _bind(self) -> socket.socket:
        place = f"{self._host}:{self._asked}"
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(
                self._host, self._asked, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        except OSError:
            raise InputError(f"cannot listen on {place}: this machine has no address {self._host}") from None
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(_BACKLOG)
        except OSError as error:
            bound.close()
            raise InputError(
                f"cannot listen on {place} ({error.strerror}): end what uses it, or choose another --admin"
            ) from None
        bound.setblocking(False)
        return bound
