"""Server-sent events: an answer that goes on, piece by piece, until it ends or its reader has gone."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import Receive, Send

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


async def send_all(pieces: AsyncGenerator[bytes, None], send: Send) -> None:
    """Send a stream to its end; the next piece is asked for when the reader has taken the one before."""
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    async with aclosing(pieces):
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def gone(receive: Receive) -> None:
    """Wait until the reader has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
