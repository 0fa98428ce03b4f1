"""One client's connection, bounded in every way: nobody on it can hold up what else the process does.

h11 knows the protocol and bounds a request's head. Here is what it leaves to others: how much is parsed in
one turn of the event loop, how long a request may take to arrive, how long an answer may wait for its reader.
A body is read no faster than the app takes it. How many connections there are is the server's concern.

One task serves a connection: it reads a request, calls the app as ASGI says, and goes on with the next.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import h11

from edgefw.http.answers import failure

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Scope

    from edgefw.http.listening import ByteReader, ByteWriter
    from edgefw.http.room import Room

PIECE = 4096  # bytes that are parsed before others get their turn
_FAILED = 500, "the service failed at this: its log says how"
_NOT_WHOLE = 408, "the request did not arrive whole in time: send it again"


@dataclass(frozen=True)
class Bounds:
    """What a client may take up."""

    head: int = 16_384  # bytes of a request's line and headers; a little more if they come at once
    request: float = 10.0  # seconds for a request to arrive whole, its body included
    idle: float = 5.0  # seconds between two requests
    stall: float = 30.0  # seconds that an answer waits for a reader who does not read
    connections: int = 128


class HttpConnection:
    """A connection within bounds; one that goes beyond them is ended."""

    def __init__(self, app: ASGIApp, bounds: Bounds, reader: ByteReader, writer: ByteWriter) -> None:
        self._app, self._bounds, self._reader, self._writer = app, bounds, reader, writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=bounds.head)
        self._deadline = 0.0  # when what is awaited has to be there
        self._busy = False
        self._last = False  # no request is answered after this one
        self._broken = False  # the client has gone, or has been too slow
        self._head: h11.Response | None = None  # of the answer, not sent yet
        self._method = b""

    def abort(self) -> None:
        """End at once."""
        self._writer.transport.abort()

    def finish(self) -> None:
        """End after the answer that is under way."""
        self._last = True
        if not self._busy:
            self.abort()

    async def serve(self, room: Room[HttpConnection]) -> None:
        """Answer requests one after the other, until one side has had enough."""
        room.enter(self)
        try:
            await self._answer_all(room)
        except (TimeoutError, ConnectionError):  # it went away, or takes too long: nobody is to be told
            self.abort()
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint, f"this is no HTTP request: {error}")
        finally:
            try:
                await self._close()
            finally:  # also where it is cancelled meanwhile: else its place would be taken for good
                room.leave(self)

    async def _answer_all(self, room: Room[HttpConnection]) -> None:
        self._await(self._bounds.request)  # who connects has something to say
        while isinstance(request := await self._event(), h11.Request):
            self._busy = True
            room.mark(self, busy=True)
            await self._answer(request)
            self._busy = False
            room.mark(self, busy=False)
            if self._last or self._http.our_state is not h11.DONE:
                break
            self._http.start_next_cycle()
            self._await(self._bounds.request if self._http.trailing_data[0] else self._bounds.idle)

    async def _answer(self, request: h11.Request) -> None:
        self._method, scope = request.method, _scope(request, self._writer.transport)
        try:
            await self._app(scope, self._receive, self._send)
        finally:
            if self._http.our_state is h11.SEND_RESPONSE:
                self._refuse(*(_NOT_WHOLE if self._broken else _FAILED))
        while self._http.their_state is h11.SEND_BODY:
            await self._event()  # nobody looks at the rest; who sends it will read then

    async def _event(self) -> Any:
        """Return the next event of the protocol. Where bytes are missing, one piece a turn is read."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            async with asyncio.timeout_at(self._deadline):
                data = await self._reader.read(PIECE)
            if not data:
                raise ConnectionResetError("the client has gone")
            if self._http.their_state is h11.IDLE and not self._http.trailing_data[0]:
                self._await(self._bounds.request)  # a request has begun
            self._http.receive_data(data)
            await asyncio.sleep(0)
        return event

    def _await(self, seconds: float) -> None:
        """Give the client so long from now."""
        self._deadline = asyncio.get_running_loop().time() + seconds

    async def _receive(self) -> Message:
        """Return what ASGI calls a message: a piece of the body, or that the client has gone."""
        if self._http.their_state is not h11.SEND_BODY:
            return await self._gone()
        if self._http.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            self._writer.write(self._http.send(go_on) or b"")
        try:
            event = await self._event()
        except (TimeoutError, ConnectionError, h11.RemoteProtocolError):
            self._broken = True
            return {"type": "http.disconnect"}
        body = bytes(event.data) if isinstance(event, h11.Data) else b""
        return {"type": "http.request", "body": body, "more_body": not isinstance(event, h11.EndOfMessage)}

    async def _gone(self) -> Message:
        """Wait until the client has gone."""
        if data := await self._reader.read(PIECE):  # it asks for more already: it is still there
            self._http.receive_data(data)
            await asyncio.get_running_loop().create_future()
        self._broken = True
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        """Send what ASGI calls a message: the head of an answer, or a piece of its body."""
        if self._broken:
            raise ConnectionResetError("the client has gone")
        if message["type"] == "http.response.start":
            self._head = _head(message["status"], message["headers"])
            return
        body, pieces = message.get("body", b""), []
        if self._head is not None:  # with the first piece of the body: they travel together
            pieces, self._head = [self._http.send(self._head)], None
        if body and self._method != b"HEAD":
            pieces.append(self._http.send(h11.Data(data=body)))
        if not message.get("more_body", False):
            pieces.append(self._http.send(h11.EndOfMessage()))
        self._writer.write(b"".join(piece or b"" for piece in pieces))
        async with asyncio.timeout(self._bounds.stall):
            await self._writer.drain()

    def _refuse(self, status: int, message: str) -> None:
        """Say what is wrong, if that can still be said; nothing is answered after it."""
        self._last = True
        if self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            answer = failure(status, message, headers={"Connection": "close"})
            self._writer.write((self._http.send(_head(answer.status, answer.headers)) or b"") + answer.body)

    async def _close(self) -> None:
        """End when all that was written has been read, or is not read for too long."""
        self._writer.close()
        try:
            async with asyncio.timeout(self._bounds.stall):
                await self._writer.wait_closed()
        except (TimeoutError, ConnectionError):
            self.abort()


def _head(status: int, headers: list[tuple[bytes, bytes]]) -> h11.Response:
    date = (b"date", formatdate(usegmt=True).encode())
    return h11.Response(status_code=status, headers=[*headers, date], reason=HTTPStatus(status).phrase)


def _scope(request: h11.Request, transport: Any) -> Scope:
    raw_path, _, query = request.target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": request.http_version.decode(),
        "method": request.method.decode(),
        "scheme": "http",
        "path": unquote(raw_path.decode()),
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": list(request.headers),
        "client": (transport.get_extra_info("peername") or ("", 0))[:2],
        "server": transport.get_extra_info("sockname")[:2],
    }
