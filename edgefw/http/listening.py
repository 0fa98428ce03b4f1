"""How a server is reached: connections of bytes, over TCP or whatever a transport has in its place."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from edgefw.errors import InputError

BUFFER = 16_384  # bytes that wait to be parsed; at twice as many the client has to wait
_BACKLOG = 256


class ByteReader(Protocol):
    """What is read from a connection; `asyncio.StreamReader` is one."""

    async def read(self, n: int = -1) -> bytes:
        """Return at most n bytes, none at the end; with -1, all there will be."""


class ByteWriter(Protocol):
    """What is written to a connection; `asyncio.StreamWriter` is one."""

    @property
    def transport(self) -> Any:
        """What can be aborted, and asked for `peername` and `sockname`."""

    def write(self, data: bytes) -> None:
        """Send something."""

    async def drain(self) -> None:
        """Wait until the other end has read enough for more to be sent."""

    def close(self) -> None:
        """Send nothing more."""

    async def wait_closed(self) -> None:
        """Wait until all that was sent is read, or will never be."""


class Listening(Protocol):
    """Somebody who listens; `port` says where."""

    port: int

    def close(self) -> None:
        """Take no more connections."""

    async def wait_closed(self) -> None:
        """Wait for the end."""


Connected = Callable[[ByteReader, ByteWriter], None]
Listen = Callable[[Connected, str, int], Awaitable[Listening]]
"""Begins to listen at a host and port (0: any), and calls with both ends of every connection that comes."""

Connect = Callable[[str, int], Awaitable[tuple[ByteReader, ByteWriter]]]
"""Connects to a host and port; OSError where nobody listens."""


class _Tcp:
    def __init__(self, server: asyncio.Server) -> None:
        self._server = server
        self.port: int = server.sockets[0].getsockname()[1]

    def close(self) -> None:
        self._server.close()

    async def wait_closed(self) -> None:
        await self._server.wait_closed()


async def listen_tcp(connected: Connected, host: str, port: int) -> Listening:
    """Listen on a socket; one line where that cannot be."""
    place = f"{host}:{port}"
    try:
        return _Tcp(await asyncio.start_server(connected, host, port, limit=BUFFER, backlog=_BACKLOG))
    except socket.gaierror:
        raise InputError(f"cannot listen on {place}: this machine has no address {host}") from None
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise InputError(f"cannot listen on {place}: {error.strerror or error}") from None
        raise InputError(
            f"cannot listen on {place}: the port is taken; end what uses it, or choose another"
        ) from None
