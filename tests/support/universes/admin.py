"""An admin of the broker, over the memory transport: the calls of its own HTTP handlers."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgefw.local.ports import Places
    from universes.network import UniverseNetwork

PATIENCE = 30.0  # seconds for an answer


class Admin:
    """Whoever changes the plan."""

    def __init__(self, network: UniverseNetwork, places: Places) -> None:
        self._network, self._place = network, (places.broker.host, places.admin)

    async def call(self, verb: str, path: str, body: Any = None) -> int | None:
        """Make a call; return its status, None where the broker was not there or went away."""
        try:
            reader, writer = await self._network.http.connect(*self._place)
            writer.write(self._request(verb, path, body))
            async with asyncio.timeout(PATIENCE):
                answer = await reader.read()
        except (ConnectionError, TimeoutError):
            return None
        head = answer.partition(b"\r\n")[0].split()
        return int(head[1]) if len(head) > 1 else None

    async def insist(self, verb: str, path: str, body: Any = None) -> int:
        """Make a call until it is answered, and the broker has room for it."""
        while (status := await self.call(verb, path, body)) in {None, 507}:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
        assert status is not None
        return status

    async def begin(self, text: bytes) -> None:
        """Begin a connection, say something, and vanish while an answer is awaited."""
        try:
            reader, writer = await self._network.http.connect(*self._place)
        except ConnectionError:
            return
        writer.write(text)
        await asyncio.sleep(0.05)
        del reader
        writer.abort()

    def _request(self, verb: str, path: str, body: Any) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        host, port = self._place
        head = f"{verb} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        return head.encode() + b"\r\n" + data
