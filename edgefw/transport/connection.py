"""Calls to another service that are tried until they work: the one loop that connects again.

    async for attempt in connection.attempts("subscribe", refusal):
        async with attempt as channel:
            async for message in Stub(channel).Subscribe(request):
                attempt.worked()

A try that fails in a way that may pass is followed by the next, over a new channel: the service may have
another address by then, and a new channel resolves its name again. One that is refused for good raises.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

import grpc

from edgefw.transport.backoff import Backoff
from edgefw.transport.channel import GRPC

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from edgefw.errors import EdgefwError
    from edgefw.transport.seam import Transport

    Refusal = Callable[[grpc.aio.AioRpcError], EdgefwError | None]

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_MESSAGE = 5.0  # seconds that the other end of a new stream has to say something
REFUSALS = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)
"""What the other side means: the same call would be refused again. Any other failure may pass."""


class Connection:
    """A way to one service (as its certificate calls it) at host:port, that outlives its channels."""

    def __init__(self, service: str, address: str, transport: Transport = GRPC) -> None:
        self._service, self.address, self._transport = service, address, transport
        self.who = service.replace("-", " ") if service.startswith("agent-") else f"the {service}"
        self._channel: grpc.aio.Channel | None = None

    def attempts(self, what: str, refusal: Refusal) -> Attempts:
        """Return tries without end to do `what`.

        `refusal` turns a refusal into the error to raise, or into None: then it is tried again like any
        failure.
        """
        return Attempts(self, what, refusal)

    async def insist(
        self, what: str, refusal: Refusal, call: Callable[[grpc.aio.Channel], Awaitable[T]]
    ) -> T:
        """Return the answer to a call, which is made until there is one."""
        async for attempt in self.attempts(what, refusal):
            async with attempt as channel:
                return await call(channel)
        raise AssertionError  # there is always another try

    def channel(self) -> grpc.aio.Channel:
        """Return the channel, a new one if there is none."""
        if self._channel is None:
            self._channel = self._transport.open_channel(self.address, self._service)
        return self._channel

    async def close(self) -> None:
        """Close the channel: the next try opens another."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Attempts:
    """One try after the other, with pauses between them; a block of `async with` is one try."""

    def __init__(self, connection: Connection, what: str, refusal: Refusal) -> None:
        self._connection, self._what, self._refusal = connection, what, refusal
        self._backoff = Backoff()
        self._tried = False
        self._said = ""

    def worked(self) -> None:
        """Take note that the other side has answered: the next pause is short again."""
        self._backoff.reset()
        self._said = ""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Self:
        if self._tried:
            await self._connection.close()
            await self._backoff.pause()
        self._tried = True
        return self

    async def __aenter__(self) -> grpc.aio.Channel:
        return self._connection.channel()

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, grpc.aio.AioRpcError):
            self._judge(error)
        elif isinstance(error, TimeoutError):
            self._say("no answer")
        else:
            return False
        return True

    def _judge(self, error: grpc.aio.AioRpcError) -> None:
        if error.code() in REFUSALS and (refused := self._refusal(error)) is not None:
            raise refused from None
        self._say(f"{error.code().name}: {error.details()}")

    def _say(self, failure: str) -> None:
        """Log a failure when it begins, not each time that it is met again."""
        if failure != self._said:
            where = self._connection.who, self._connection.address
            log.warning("waiting for %s at %s to %s: %s", *where, self._what, failure)
        self._said = failure


@asynccontextmanager
async def ending(call: Any) -> AsyncIterator[Any]:
    """Leave nothing of a call behind; where it ended while it was written to, raise what it ended with."""
    try:
        yield call
    except asyncio.InvalidStateError:  # gRPC's word for it; reading would have told the status
        if (code := await call.code()) is not grpc.StatusCode.OK:
            nothing = grpc.aio.Metadata()
            raise grpc.aio.AioRpcError(code, nothing, nothing, await call.details()) from None
    finally:
        call.cancel()


async def while_open(write: Callable[[], Awaitable[None]]) -> None:
    """Write until the stream ends. Why it ended is for the reader to say, who is told more of it."""
    try:
        await write()
    except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
        await asyncio.Event().wait()


async def first_message(call: Any) -> Any:
    """Return the first message that comes over a stream; TimeoutError if the other end has none to say."""
    async with asyncio.timeout(FIRST_MESSAGE):
        return await call.read()
