"""From the page to the broker: a page may speak to its own origin only, so the observer passes calls on.

Who may call is the guard's to say, before this; the broker's token, where there is one, is asked for by the
broker: the browser's Authorization and the cookie of its login are passed on, and so is a login's answer. All
that is added is who calls: the page, and for whom.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import h11

from edgefw.errors import EdgefwError
from edgefw.http.answers import Answer, failure
from edgefw.http.body import LARGEST_BODY
from edgefw.http.login import PREFIX
from edgefw.page.app import ADMIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.types import Receive, Scope, Send

PATIENCE = 10.0  # seconds for the broker to answer
LARGEST_ANSWER = 16_000_000
PASSED_ON = (b"authorization", b"content-type", b"accept")
KEPT = (b"content-type", b"location", b"www-authenticate", b"allow", b"set-cookie", b"cache-control")
STREAMS = ("events",)  # do not end: they are not for this


class Forward:
    """Passes calls below /admin/ on to the place that `where` says, host:port."""

    def __init__(self, where: Callable[[], str | None]) -> None:
        self._where = where

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with what the broker answers."""
        answer = await self._answer(scope, receive)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        where, path = self._where(), scope["path"].removeprefix(ADMIN)
        if where is None:
            return failure(503, "the broker has no admin endpoint that this page may use: see --admin")
        if path.partition("/")[0] in STREAMS:
            return failure(404, f"/{path} is not to be had here: ask the broker at {where}")
        body = await _body(receive)
        if body is None:
            return failure(413, f"the body is too large: at most {LARGEST_BODY} bytes are read")
        raw = scope["raw_path"].removeprefix(ADMIN.rstrip("/").encode())
        headers = [(name, value) for name, value in scope["headers"] if name in PASSED_ON]
        headers += [(b"cookie", own) for own in _own_cookies(scope["headers"])]
        headers.append((b"user-agent", f"edgefw-page ({(scope.get('client') or ('?',))[0]})".encode()))
        try:
            async with asyncio.timeout(PATIENCE):
                return await _call(where, scope["method"], raw, headers, body)
        except (OSError, TimeoutError, h11.RemoteProtocolError):
            return failure(503, f"the broker's admin endpoint at {where} does not answer: its log says why")


def _own_cookies(headers: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """Return the cookies of a login; others, of whatever else is on this host, are nobody's business."""
    given = [each.strip() for name, value in headers if name == b"cookie" for each in value.split(b";")]
    own = [each for each in given if each.startswith(PREFIX.encode())]
    return [b"; ".join(own)] if own else []


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request, None if it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def _call(
    where: str, verb: str, path: bytes, headers: list[tuple[bytes, bytes]], body: bytes
) -> Answer:
    host, _, port = where.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        client = h11.Connection(h11.CLIENT)
        own = [
            (b"host", where.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        for event in (h11.Request(method=verb, target=path, headers=[*own, *headers]), h11.Data(data=body)):
            writer.write(client.send(event) or b"")
        writer.write(client.send(h11.EndOfMessage()) or b"")
        return await _read(client, reader)
    finally:
        writer.close()


async def _read(client: h11.Connection, reader: asyncio.StreamReader) -> Answer:
    status, kept, content = 502, dict[str, str](), bytearray()
    while True:
        event = client.next_event()
        if event is h11.NEED_DATA:
            client.receive_data(await reader.read(65_536))
        elif isinstance(event, h11.Response):
            status = event.status_code
            kept = {name.decode(): value.decode("latin-1") for name, value in event.headers if name in KEPT}
        elif isinstance(event, h11.Data):
            content += event.data
            if len(content) > LARGEST_ANSWER:
                raise EdgefwError("the broker's answer has no end")
        elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
            return Answer(bytes(content), status, kept.pop("content-type", None), kept)
