"""The page as an app: the page itself, what it is made of, and the story, whole or as it goes on.

A browser costs the run nothing but what it reads: a stream works out what is new when its reader has taken
what was new before, so nothing piles up for one that is slow or dead.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefw.http.answers import JSON, TEXT, Answer, failure
from edgefw.http.streaming import gone, send_all
from edgefw.page.prepare import MISSING, installed
from edgefw.transport.race import race

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from edgefw.page.telling import Teller

TICK = 0.4  # seconds between two messages to a browser
HEARTBEAT = 10.0  # seconds of silence after which a comment shows that a stream stands
MOST_STREAMS = 16  # for one more, the oldest ends
ADMIN = "/admin/"

_ASSETS = Path(__file__).parent / "assets"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)  # Bokeh styles its elements inline, and saves a figure as a blob
_SAFE = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class PageApp:
    """The page of a run; `prepare` makes what takes long, `admin` answers calls that change delays.

    `about` says what the run is, when somebody asks.
    """

    def __init__(
        self,
        about: Callable[[], dict[str, Any]],
        teller: Teller,
        prepare: Callable[[], Awaitable[bytes]],
        admin: ASGIApp | None = None,
    ) -> None:
        self._about, self._teller, self._prepare, self._admin = about, teller, prepare, admin
        self._prepared: asyncio.Task[bytes] | None = None
        self._streams: dict[asyncio.Event, None] = {}  # what ends each, the oldest first
        self._over = False

    @property
    def looked_at(self) -> bool:
        """Whether somebody follows the run."""
        return bool(self._streams)

    def close(self) -> None:
        """End all streams, after a last message."""
        self._over = True
        for end in self._streams:
            end.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        path: str = scope["path"]
        if path.startswith(ADMIN) and self._admin is not None:
            await self._admin(scope, receive, send)
        elif scope["method"] != "GET":
            refusal = failure(405, f"{scope['method']} is not for {path}", headers={"Allow": "GET"})
            await refusal(scope, receive, send)
        elif path == "/page/stream":
            await self._stream(scope, receive, send)
        else:
            await (await self._answer(path))(scope, receive, send)

    async def _answer(self, path: str) -> Answer:
        if not installed():
            return Answer(f"the page cannot be shown: {MISSING}\n".encode(), 501, TEXT)
        if path == "/":
            return _file(_ASSETS / "page.html")
        if path.startswith("/assets/"):
            return _asset(path.removeprefix("/assets/"))
        data = await self._data(path.removeprefix("/page/"))
        return failure(404, f"there is no {path}: the page is at /") if data is None else _safe(data, JSON)

    async def _data(self, name: str) -> bytes | None:
        if name == "about":
            return json.dumps(self._about()).encode()
        if name == "story":
            return self._teller.message()[1]
        return await self._make() if name == "prepared" else None

    async def _make(self) -> bytes:
        """Return what takes long to make; it is made once, however many ask."""
        if self._prepared is None or (self._prepared.done() and self._prepared.exception()):
            self._prepared = asyncio.ensure_future(self._prepare())
        return await asyncio.shield(self._prepared)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self._streams) >= MOST_STREAMS:
            next(iter(self._streams)).set()
        end = asyncio.Event()
        if self._over:
            end.set()
        self._streams[end] = None
        try:
            await race(send_all(self._pieces(_last_id(scope), end), send), gone(receive))
        finally:
            self._streams.pop(end, None)

    async def _pieces(self, mark: str | None, end: asyncio.Event) -> AsyncGenerator[bytes, None]:
        """Tell the story as it goes on."""
        told, silence, last = b"", 0.0, False
        while not last:
            last = end.is_set()
            after, message = self._teller.message(mark)
            if (after, message) != (mark, told):
                mark, told, silence = after, message, 0.0
                yield b"id: %s\ndata: %s\n\n" % (after.encode(), message)
            elif silence >= HEARTBEAT:
                silence = 0.0
                yield b": here\n\n"
            if not last:
                await _wait(end, TICK)
                silence += TICK


async def _wait(end: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await end.wait()


def _last_id(scope: Scope) -> str | None:
    """Return the mark of the last message that a browser has, which it gives when it connects again."""
    return next(
        (value.decode("latin-1") for name, value in scope["headers"] if name == b"last-event-id"), None
    )


def _asset(name: str) -> Answer:
    if name == "bokeh.min.js":
        return _file(_bokeh() / "server" / "static" / "js" / name)
    if name not in {path.name for path in _ASSETS.iterdir()}:
        return failure(404, f"there is no /assets/{name[:64]}")
    return _file(_ASSETS / name)


def _bokeh() -> Path:
    """Return the folder of the package, which is not loaded for that."""
    found = find_spec("bokeh")
    assert found is not None  # noqa: S101 - looked for first
    assert found.origin is not None  # noqa: S101 - it is no namespace
    return Path(found.origin).parent


def _file(path: Path) -> Answer:
    return _safe(path.read_bytes(), _TYPES[path.suffix])


def _safe(body: bytes, content_type: str) -> Answer:
    return Answer(body, content_type=content_type, headers=_SAFE)
