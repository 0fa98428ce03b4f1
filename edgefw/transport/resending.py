"""A stream on which each message is sent until it is answered, however often the stream breaks.

Theory of operation. A message that is handed over has a key, a number that grows, and is kept until an answer
lets go of it. A stream that breaks is opened again (see `connection`) and gets all that is still kept, in
order. Some of it may be there already, and only its answer was lost: the other side knows by the key what it
has, and takes nothing twice.

    add 1, 2, 3              kept: 1 2 3     stream: -> 1 2 3
    an answer to 1           kept: 2 3
    the stream breaks        kept: 2 3       new stream: -> 2 3
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from grpc.aio import EOF

from edgefw.transport.connection import Attempts, Connection, ending, first_message, while_open
from edgefw.transport.race import race

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpc.aio import AioRpcError, Channel

    from edgefw.errors import EdgefwError

M = TypeVar("M")


class ResendingStream(ABC, Generic[M]):
    """Keeps every message until it is answered; `run` sends them."""

    what: ClassVar[str]  # what the stream is for, in a log
    answers_hello: ClassVar[bool] = False  # whether the other side speaks before it is sent messages
    batch: ClassVar[int] = 1  # kept messages that go out as one
    ahead: ClassVar[float] = float("inf")  # messages sent ahead of their answers
    company: ClassVar[float] = 0.0  # seconds that a message waits for others to go with
    until_back: ClassVar[bool] = True  # whether `settled` waits for another side that is away

    def __init__(
        self, connection: Connection, open_stream: Callable[[Channel], Any], hello: Any = None
    ) -> None:
        """Send over a connection; every stream begins with `hello`, if there is one."""
        self._connection, self._open, self._hello = connection, open_stream, hello
        self._kept: OrderedDict[int, M] = OrderedDict()  # a dict would be slow to take from the front of
        self._unsent: deque[int] = deque()  # those that this stream has not carried yet
        self._stands = False  # whether a stream does
        self._news, self._settled = asyncio.Event(), asyncio.Event()
        self._settled.set()

    async def settled(self) -> None:
        """Wait until every message has been answered."""
        await self._settled.wait()

    async def run(self) -> None:
        """Send and take answers without end; raises what a refusal is."""
        async with self._connection as connection:
            async for attempt in connection.attempts(self.what, self._refusal):
                async with attempt as channel, ending(self._open(channel)) as call:
                    try:
                        await self._converse(call, attempt)
                    finally:
                        self._stands = False
                        self._review()

    @abstractmethod
    def _take(self, answer: Any) -> None:
        """Take an answer, and let go of what it answers."""

    @abstractmethod
    def _refusal(self, error: AioRpcError) -> EdgefwError | None:
        """Return the error that a refusal is, or None where it may pass."""

    def _pack(self, messages: list[M]) -> Any:
        """Return what goes over the wire for `batch` messages at most."""
        return messages[0]

    def _add(self, key: int, message: M) -> None:
        """Hand over a message."""
        self._kept[key] = message
        self._unsent.append(key)
        self._review()

    def _done_up_to(self, key: int) -> None:
        """Let go of all messages up to a key."""
        while self._kept and next(iter(self._kept)) <= key:
            self._let_go(self._kept.popitem(last=False)[1])
        self._review()

    def _let_go(self, message: M) -> None:
        """Take note that a message is kept no more."""

    def _review(self) -> None:
        """See anew whether there is something to write, and something to wait for."""
        self._news.set()
        if self._kept and (self._stands or self.until_back):
            self._settled.clear()
        else:
            self._settled.set()

    async def _converse(self, call: Any, attempt: Attempts) -> None:
        """Use one stream until it ends."""
        if self._hello is not None:
            await call.write(self._hello)
        if self.answers_hello and (answer := await first_message(call)) is not EOF:
            attempt.worked()
            self._take(answer)
        self._unsent, self._stands = deque(self._kept), True
        self._review()
        await race(self._read(call, attempt), while_open(partial(self._write, call)))

    async def _read(self, call: Any, attempt: Attempts) -> None:
        while (answer := await call.read()) is not EOF:
            attempt.worked()
            self._take(answer)

    async def _write(self, call: Any) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while messages := self._next():
                await call.write(self._pack(messages))
            if self.company:
                await asyncio.sleep(self.company)

    def _next(self) -> list[M]:
        """Return the messages that go out next; none where there are none, or too many are unanswered."""
        messages: list[M] = []
        room = self.ahead - (len(self._kept) - len(self._unsent))
        while self._unsent and len(messages) < min(self.batch, room):
            if (key := self._unsent.popleft()) in self._kept:
                messages.append(self._kept[key])
        return messages
