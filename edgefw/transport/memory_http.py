"""HTTP without a network: connections of bytes between services of one process, and whoever asks them.

The HTTP stack is the same as over TCP, head to body: it is handed two ends of a connection, and cannot tell.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from edgefw.errors import InputError
from edgefw.transport.memory_call import Pipe

if TYPE_CHECKING:
    from edgefw.http.listening import Connected

CLIENT = ("127.0.0.1", 1)  # who connects, as the other end sees it


class MemoryReader:
    """The bytes that come over one direction of a connection."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe, self._left = pipe, b""

    async def read(self, n: int = -1) -> bytes:
        """Return at most n bytes, none at the end; with -1, all there will be."""
        if n < 0:
            pieces = [self._left]
            while (piece := await self._pipe.read()) is not None:
                pieces.append(piece)
            self._left = b""
            return b"".join(pieces)
        if not self._left:
            self._left = await self._pipe.read() or b""
        data, self._left = self._left[:n], self._left[n:]
        return data


class MemoryWriter:
    """The way out of one end of a connection; its own transport, too."""

    def __init__(self, out: Pipe, back: Pipe, names: dict[str, Any]) -> None:
        self._out, self._back, self._names = out, back, names

    @property
    def transport(self) -> MemoryWriter:
        """What can be aborted, and asked for names."""
        return self

    def get_extra_info(self, name: str) -> Any:
        """Return `peername` or `sockname`."""
        return self._names.get(name)

    def abort(self) -> None:
        """Break both directions off."""
        self._out.break_off()
        self._back.break_off()

    def write(self, data: bytes) -> None:
        """Send something; where the other end has gone, nobody hears."""
        if data:
            self._out.put(data)

    async def drain(self) -> None:
        """Wait until the other end has read enough for more to be sent."""
        if not await self._out.has_room():
            raise ConnectionResetError("the other end has gone")

    def close(self) -> None:
        """Send nothing more."""
        self._out.close()

    async def wait_closed(self) -> None:
        """Return at once: what was sent can still be read."""


class MemoryHttp:
    """Who answers HTTP where."""

    def __init__(self) -> None:
        self._listening: dict[tuple[str, int], Connected] = {}

    async def listen(self, connected: Connected, host: str, port: int) -> MemoryListening:
        """Begin to listen; no port is chosen here: whoever starts the services has given each its own."""
        if (host, port) in self._listening:
            raise InputError(f"cannot listen on {host}:{port}: the port is taken; end what uses it")
        own = copy_context()  # whose server it is: it answers as its own tasks do
        self._listening[host, port] = lambda reader, writer: own.copy().run(connected, reader, writer)
        return MemoryListening(self._listening, host, port)

    async def connect(self, host: str, port: int) -> tuple[MemoryReader, MemoryWriter]:
        """Return this end of a new connection."""
        await asyncio.sleep(0)
        connected = self._listening.get((host, port))
        if connected is None:
            raise ConnectionRefusedError(f"nobody listens at {host}:{port}")
        there, back = Pipe(), Pipe()
        server = {"peername": CLIENT, "sockname": (host, port)}
        connected(MemoryReader(there), MemoryWriter(back, there, server))
        return MemoryReader(back), MemoryWriter(
            there, back, {"peername": server["sockname"], "sockname": CLIENT}
        )


class MemoryListening:
    """Somebody who listens."""

    def __init__(self, listening: dict[tuple[str, int], Connected], host: str, port: int) -> None:
        self._listening, self._host, self.port = listening, host, port

    def close(self) -> None:
        """Take no more connections."""
        self._listening.pop((self._host, self.port), None)

    async def wait_closed(self) -> None:
        """Return at once: there is nothing to wait for."""
