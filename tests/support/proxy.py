"""A network on loopback that can be slow or cut: it carries bytes between clients and a server.

While it is cut it takes connections and closes none, as a switch whose cable was pulled: no end hears of it.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine


class Proxy:
    """Carries bytes to a server at `target`; `latency` seconds pass before a connection is made."""

    def __init__(self, target: str, latency: float) -> None:
        self._target, self._latency = target, latency
        self._whole = asyncio.Event()
        self._whole.set()
        self._carrying: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Condition()
        self._left = asyncio.Event()
        self.connections = 0  # that were opened so far
        self.address, self.port = "", 0

    def cut(self) -> None:
        """Hold every byte from now on."""
        self._whole.clear()

    def heal(self, *, forget: bool = False) -> None:
        """Carry bytes again; with `forget` none of connections from before, which stay silent for ever."""
        if forget:
            self._whole = asyncio.Event()
        self._whole.set()

    async def carried_more(self) -> None:
        """Wait until bytes have been carried, either way."""
        async with self._moved:
            await self._moved.wait()

    async def left_by_server(self) -> None:
        """Wait until the server has closed a connection."""
        await self._left.wait()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._carrying.add(asyncio.create_task(self._carry(reader, writer, self._whole)))

    async def close(self) -> None:
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, whole: asyncio.Event
    ) -> None:
        """Serve one connection until either end closes it and the other can hear of it."""
        await asyncio.sleep(self._latency)
        await whole.wait()
        host, _, port = self._target.rpartition(":")
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        there, back = asyncio.Queue[bytes](), asyncio.Queue[bytes]()
        taking = [_take(reader, there), self._take_from_server(there_reader, back)]
        giving = [self._give(there, there_writer, whole), self._give(back, writer, whole)]
        try:
            await _until_one_ends(taking, giving)
        finally:
            for end in (writer, there_writer):
                end.close()

    async def _take_from_server(self, reader: asyncio.StreamReader, held: asyncio.Queue[bytes]) -> None:
        await _take(reader, held)
        self._left.set()

    async def _give(
        self, held: asyncio.Queue[bytes], writer: asyncio.StreamWriter, whole: asyncio.Event
    ) -> None:
        while data := await held.get():
            await whole.wait()
            writer.write(data)
            await writer.drain()
            async with self._moved:
                self._moved.notify_all()
        await whole.wait()


async def _take(reader: asyncio.StreamReader, held: asyncio.Queue[bytes]) -> None:
    """Take what comes, also while nothing is carried; empty is the end."""
    try:
        while data := await reader.read(65536):
            held.put_nowait(data)
    except ConnectionError:
        pass
    held.put_nowait(b"")


async def _until_one_ends(
    taking: list[Coroutine[None, None, None]], giving: list[Coroutine[None, None, None]]
) -> None:
    takers, givers = ([asyncio.create_task(each) for each in kind] for kind in (taking, giving))
    try:
        await asyncio.wait(givers, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*takers, *givers):
            task.cancel()
        await asyncio.gather(*takers, *givers, return_exceptions=True)


@asynccontextmanager
async def proxy(
    target: str, latency: float = 0.0, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Proxy]:
    """Run a proxy to the server at `target`, a host and a port; its own are on loopback."""
    made = Proxy(target, latency)
    server = await asyncio.start_server(made.accept, host, port, family=socket.AF_INET)
    made.port = server.sockets[0].getsockname()[1]
    made.address = f"{host}:{made.port}"
    try:
        yield made
    finally:
        server.close()
        await made.close()
