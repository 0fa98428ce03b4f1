"""One call over the memory transport: what is sent each way, and how it ended.

Theory of operation. A call is two `Pipe`s of bytes and one status. The client's end is a `MemoryCall`, the
server's a `MemoryContext`; both offer what the calls and contexts of `grpc.aio` offer to generated stubs and
servicers, and raise what those raise, so that neither side can tell the transports apart. A call ends once,
whoever is first: the handler returns or aborts, the client cancels or its deadline passes, or the connection
breaks. Messages that were written before the end are read before it is seen.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import grpc
from grpc.aio import EOF, AbortError, AioRpcError, InternalError, Metadata

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Sequence

ROOM = 65_536  # bytes on their way in one direction before a writer waits: HTTP/2's window
CANCELLED = (grpc.StatusCode.CANCELLED, "Locally cancelled by application!")

Status = tuple[grpc.StatusCode, str]
Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]
Take = Callable[[Any], None]


class Signal:
    """Wakes all who wait for it now.

    An `asyncio.Event` that is cleared before each wait does the same in twice the time, for every message.
    """

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    def set(self) -> None:
        """Wake all who wait."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                if not each.done():
                    each.set_result(None)

    async def wait(self) -> None:
        """Wait until it is set the next time."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future


class Pipe:
    """Bytes in one direction, in order; a writer waits while too many are unread."""

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()
        self._size = 0
        self._changed = Signal()  # something was written, read or closed
        self._closed = False  # nothing more will be written
        self._broken = False  # ... and nothing more will be read
        self._take: Take | None = None  # who is handed what is written, at once

    async def write(self, message: bytes) -> bool:
        """Send a message; return False where the other end has gone."""
        if self._size >= ROOM:
            await self.has_room()
        return self.put(message)

    @property
    def is_full(self) -> bool:
        """Whether a writer has to wait."""
        return self._size >= ROOM

    async def has_room(self) -> bool:
        """Wait until more may be sent; return False where the other end has gone."""
        while self._size >= ROOM and not self._broken:
            await self._changed.wait()
        return not self._broken

    def put(self, message: bytes) -> bool:
        """Send a message without waiting for room."""
        if self._closed:
            return False
        if self._take is not None:
            self._take(message)
            return True
        self._messages.append(message)
        self._size += len(message)
        self._changed.set()
        return True

    async def read(self) -> bytes | None:
        """Return the next message, None at the end."""
        while not self._messages and not self._closed:
            await self._changed.wait()
        if not self._messages:
            return None
        message = self._messages.popleft()
        self._size -= len(message)
        self._changed.set()
        return message

    async def each(self, take: Take) -> None:
        """Hand every message to `take`, until the end; raise what it raises.

        Whoever only takes messages in is handed them by the writer. That spares a future, a turn of the loop
        and a task's step for each, which take longer than most messages.
        """
        failures: list[Exception] = []

        def taken(message: bytes) -> None:
            try:
                take(message)
            except Exception as error:  # noqa: BLE001 - not the writer's: it is raised below, where it belongs
                self._take = None
                failures.append(error)
                self._changed.set()

        while not failures:
            while self._messages and (message := await self.read()) is not None:
                take(message)
            if self._closed:
                return
            self._take = taken
            try:
                await self._changed.wait()
            finally:
                self._take = None
        raise failures[0]

    def close(self) -> None:
        """End the writing; what was written can still be read."""
        self._closed = True
        self._changed.set()

    def break_off(self) -> None:
        """End the reading too: a writer that waits is let go."""
        self._closed = self._broken = True
        self._changed.set()


class Exchange:
    """What the two ends of one call share."""

    def __init__(self) -> None:
        self.metadata: Sequence[tuple[str, str]] = ()  # what the caller says of itself
        self.requests, self.responses = Pipe(), Pipe()
        self.begun = asyncio.Event()  # a server has the call, or there is none
        self.ended: asyncio.Future[Status] = asyncio.get_running_loop().create_future()
        self.handler: asyncio.Task[None] | None = None

    def finish(self, code: grpc.StatusCode, details: str = "") -> bool:
        """End the call, unless it has ended; say whether it was this that did."""
        if self.ended.done():
            return False
        self.ended.set_result((code, details))
        self.begun.set()
        self.requests.break_off()
        self.responses.close()
        return True

    def break_off(self, code: grpc.StatusCode, details: str) -> bool:
        """End the call from outside its handler, which is cancelled."""
        if not self.finish(code, details):
            return False
        self.responses.break_off()
        if self.handler is not None:
            self.handler.cancel()
        return True


class MemoryCall:
    """The client's end: what a stub's method returns."""

    def __init__(self, exchange: Exchange, encode: Encode, decode: Decode, timeout: float | None) -> None:
        self._exchange, self._encode, self._decode = exchange, encode, decode
        self._cancelled = False
        if timeout is not None:
            late = grpc.StatusCode.DEADLINE_EXCEEDED
            timer = asyncio.get_running_loop().call_later(
                timeout, exchange.break_off, late, "Deadline Exceeded"
            )
            exchange.ended.add_done_callback(lambda _: timer.cancel())

    async def write(self, message: Any) -> None:
        """Send a message."""
        if self.done():
            raise asyncio.InvalidStateError("RPC already finished.")
        if not self._exchange.begun.is_set():
            await self._exchange.begun.wait()
        if not await self._exchange.requests.write(self._encode(message)):
            await self._raise_for_status()
            raise asyncio.InvalidStateError("RPC already finished.")

    def try_write(self, message: Any) -> bool:
        """Send a message if that can be done without waiting; say whether it was.

        gRPC's calls have no such thing. It spares those who have one message at a time a task and a future.
        """
        exchange = self._exchange
        if exchange.ended.done() or not exchange.begun.is_set() or exchange.requests.is_full:
            return False
        return exchange.requests.put(self._encode(message))

    async def done_writing(self) -> None:
        """Say that there will be no more messages."""
        self._exchange.requests.close()

    async def read(self) -> Any:
        """Return the next message; EOF after the last one of a call that went well."""
        try:
            message = await self._exchange.responses.read()
        except asyncio.CancelledError:
            self.cancel()
            raise
        if message is None or self._cancelled:
            await self._raise_for_status()
            return EOF
        return self._decode(message)

    async def each(self, take: Take) -> None:
        """Hand every message that is left to `take` in the moment it comes; gRPC has no such thing."""
        decode = self._decode
        try:
            await self._exchange.responses.each(lambda message: take(decode(message)))
        except asyncio.CancelledError:
            self.cancel()
            raise
        await self._raise_for_status()

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the messages that are left."""
        while (message := await self.read()) is not EOF:
            yield message

    def __await__(self) -> Generator[Any, None, Any]:
        """Return the one response of a call that has one."""
        return self._response().__await__()

    async def _response(self) -> Any:
        message = await self.read()
        await self.code()
        await self._raise_for_status()
        return message

    def cancel(self) -> bool:
        """Give the call up."""
        if not self._exchange.break_off(*CANCELLED):
            return False
        self._cancelled = True
        return True

    def cancelled(self) -> bool:
        """Whether this side has given the call up."""
        return self._cancelled

    def done(self) -> bool:
        """Whether the call has ended."""
        return self._exchange.ended.done()

    async def code(self) -> grpc.StatusCode:
        """Return how the call ended."""
        return (await asyncio.shield(self._exchange.ended))[0]

    async def details(self) -> str:
        """Return what was said about its end."""
        return (await asyncio.shield(self._exchange.ended))[1]

    async def _raise_for_status(self) -> None:
        if self._cancelled:
            raise asyncio.CancelledError
        code, details = await asyncio.shield(self._exchange.ended)
        if code is not grpc.StatusCode.OK:
            raise AioRpcError(code, Metadata(), Metadata(), details)


class MemoryContext:
    """The server's end: what a servicer's method is given beside its requests."""

    def __init__(self, exchange: Exchange, decode: Decode, encode: Encode) -> None:
        self._exchange, self._decode, self._encode = exchange, decode, encode
        self._code, self._details = grpc.StatusCode.OK, ""

    async def read(self) -> Any:
        """Return the next message, EOF after the last."""
        message = await self._exchange.requests.read()
        return EOF if message is None else self._decode(message)

    async def write(self, message: Any) -> None:
        """Send a message."""
        if not await self._exchange.responses.write(self._encode(message)):
            raise InternalError("the other end of this call has gone")

    def try_write(self, message: Any) -> bool:
        """Send a message if that can be done without waiting; say whether it was."""
        responses = self._exchange.responses
        return not responses.is_full and responses.put(self._encode(message))

    async def each(self, take: Take) -> None:
        """Hand every message that is left to `take` in the moment in which it comes."""
        decode = self._decode
        await self._exchange.requests.each(lambda message: take(decode(message)))

    async def requests(self) -> AsyncIterator[Any]:
        """Yield the messages that are left."""
        while (message := await self.read()) is not EOF:
            yield message

    async def abort(self, code: grpc.StatusCode, details: str = "", _trailing: Any = ()) -> NoReturn:
        """End the call with a status."""
        self._exchange.finish(code, details)
        raise AbortError("Locally aborted.")

    def auth_context(self) -> dict[str, list[bytes]]:
        """Return what is proved of the other end: nothing, it is in this process."""
        return {}

    def set_code(self, code: grpc.StatusCode) -> None:
        """Set the status that the call ends with when its method returns."""
        self._code = code

    def set_details(self, details: str) -> None:
        """Set what is said about the status."""
        self._details = details

    def over(self) -> None:
        """End the call as its method has left it."""
        self._exchange.finish(self._code, self._details)
