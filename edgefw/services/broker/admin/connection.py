"""One client's connection to the admin endpoint, bounded in every way: nobody on it can hold up delivery.

uvicorn's h11 protocol looks at one request at a time and bounds a request's head. What it leaves to others is
here: how much is parsed in one turn of the event loop, how long a request may take to arrive, how long an
answer may wait for its reader, and how many connections there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

    from edgefw.telemetry.room import Room

PIECE = 4096  # bytes that are parsed before others get their turn


@dataclass(frozen=True)
class Bounds:
    """What a client may take up."""

    head: int = 16_384  # bytes of a request's line and headers; a little more if they come at once
    request: float = 10.0  # seconds for a request to arrive whole, its body included
    stall: float = 30.0  # seconds that an answer waits for a reader who does not read
    connections: int = 128


class BoundedConnection(H11Protocol):
    """A connection within bounds; one that goes beyond them is ended."""

    def __init__(self, bounds: Bounds, room: Room, **options: Any) -> None:
        super().__init__(**options)
        self._room = room
        self._unparsed = bytearray()
        self._arrival = _Limit(self.loop, bounds.request, self._abort)
        self._reading = _Limit(self.loop, bounds.stall, self._abort)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin: who connects has something to say."""
        super().connection_made(transport)
        self._room.enter(transport)
        self._arrival.start()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._room.leave(self.transport)
        self._unparsed.clear()
        self._arrival.stop()
        self._reading.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come, a piece in each turn of the loop; the rest waits, and so does the client."""
        if not self._unparsed and len(data) <= PIECE:
            self._parse(data)
            return
        if not self._unparsed:
            self.loop.call_soon(self._next_piece)
        self._unparsed += data
        self.transport.pause_reading()

    def _next_piece(self) -> None:
        piece = bytes(self._unparsed[:PIECE])
        del self._unparsed[:PIECE]
        if not piece or self.transport.is_closing():
            self._unparsed.clear()
            return
        self._parse(piece)
        if self._unparsed:
            self.loop.call_soon(self._next_piece)
        elif not (self.flow.read_paused or self.transport.is_closing()):
            self.transport.resume_reading()

    def _parse(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on with the next request."""
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Let a request that has begun arrive in time, and know whether one is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        self._room.mark(self.transport, busy=cycle is not None and not cycle.response_complete)
        if self._is_arriving():
            self._arrival.start()
        else:
            self._arrival.stop()

    def _is_arriving(self) -> bool:
        state = self.conn.their_state
        begun = state is h11.IDLE and bool(self.conn.trailing_data[0])
        return begun or state is h11.SEND_BODY

    def pause_writing(self) -> None:
        """Wait for a reader, for a while."""
        super().pause_writing()
        self._reading.start()

    def resume_writing(self) -> None:
        """Go on: it reads."""
        super().resume_writing()
        self._reading.stop()

    def _abort(self) -> None:
        self.transport.abort()


class _Limit:
    """A time limit: `over` is called unless it is stopped before."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, over: Callable[[], None]) -> None:
        self._loop, self._seconds, self._over = loop, seconds, over
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to count, unless it does already."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._over)

    def stop(self) -> None:
        """Count no longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
