"""A small HTTP endpoint for machines: /metrics for Prometheus, /healthz for whoever asks.

The observer, who knows everyone, also has /targets: where Prometheus finds the others.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from edgefw.telemetry.room import Room

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import CollectorRegistry

    Targets = Callable[[], list[dict[str, Any]]]

_LONGEST_REQUEST = 16_384
_PATIENCE = 5.0  # seconds for a whole exchange: a client that neither asks nor reads is not waited for
_CONNECTIONS = 64


class Endpoint:
    """Answers GET /metrics, GET /healthz and, where there are `targets`, GET /targets."""

    def __init__(
        self,
        registry: CollectorRegistry,
        healthy: Callable[[], bool],
        targets: Targets | None = None,
        patience: float = _PATIENCE,
    ) -> None:
        self._registry, self._healthy, self._targets = registry, healthy, targets
        self._patience, self._room = patience, Room(_CONNECTIONS)
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; return the port (0 asks for a free one)."""
        self._server = await asyncio.start_server(self._answer, host, port, limit=_LONGEST_REQUEST)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Stop listening, and end what is under way."""
        if self._server is not None:
            self._server.close()
            self._room.clear()
            await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._room.enter(writer.transport)
        writer.transport.set_write_buffer_limits(high=0)  # an answer is written when all of it is
        try:
            async with asyncio.timeout(self._patience):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._respond(head.split(b"\r\n", 1)[0].decode("latin-1")))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            writer.transport.abort()  # it went away, speaks no HTTP or does not read: nobody is to be told
        finally:
            writer.close()
            self._room.leave(writer.transport)

    def _respond(self, request_line: str) -> bytes:
        method, _, rest = request_line.partition(" ")
        path = rest.split(" ")[0].split("?")[0]
        if method != "GET":
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, b"only GET\n")
        if path == "/metrics":
            return _response(HTTPStatus.OK, generate_latest(self._registry), CONTENT_TYPE_LATEST)
        if path == "/healthz":
            healthy = self._healthy()
            status = HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE
            return _response(status, b"ok\n" if healthy else b"not ready\n")
        if path == "/targets" and self._targets is not None:
            return _response(HTTPStatus.OK, json.dumps(self._targets()).encode(), "application/json")
        return _response(HTTPStatus.NOT_FOUND, b"there are /metrics and /healthz\n")


def _response(status: HTTPStatus, body: bytes, content_type: str = "text/plain; charset=utf-8") -> bytes:
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("latin-1") + body
