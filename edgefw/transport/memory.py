"""Services of one process that reach each other without a network: the twin of the gRPC transport.

Theory of operation. A `MemoryNetwork` is a world of its own: servers listen in it under addresses, channels
reach them. A stub asks its channel for a method and calls it: the channel makes an `Exchange` (see
`memory_call`), and at the loop's next turn looks who listens at its address. That server starts the method as
a task, with the exchange's other end. Nothing else is shared: messages are really encoded, so no object goes
from one service to another. Only what generated stubs and servicers use of gRPC is here.

Time is the loop's, and so is the order of things: a loop that runs the same tasks in the same order gives the
same messages in the same order.
"""

from __future__ import annotations

import asyncio
import inspect
from contextvars import copy_context
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, Any, Self

import grpc
from grpc.aio import AbortError

from edgefw.errors import InputError
from edgefw.transport.credentials import NONE
from edgefw.transport.door import REFUSED, Door, nobody_counts, with_token
from edgefw.transport.memory_call import Exchange, MemoryCall, MemoryContext
from edgefw.transport.memory_http import MemoryHttp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from edgefw.http.listening import Connected, Listening
    from edgefw.transport.credentials import Credentials


class MemoryNetwork:
    """Who listens where, as one of its services sees it: `credentials` are what that service shows others."""

    def __init__(self) -> None:
        self.servers: dict[str, MemoryListener] = {}  # by address
        self.http = MemoryHttp()
        self.credentials = NONE
        self._ports = count(1)

    def holding(self, credentials: Credentials) -> Self:
        """Return the same network, as a service with these credentials sees it."""
        seen = copy(self)
        seen.credentials = credentials
        return seen

    def open_channel(self, address: str, service: str = "") -> Any:
        """Return a channel to whoever listens at `address` when a call is made: nothing proves who it is."""
        del service
        return with_token(MemoryChannel(self, address), self.credentials)

    def listener(self, refused: Callable[[], None] = nobody_counts) -> MemoryListener:
        """Return a server that does not listen yet; `refused` is called for each call that may not enter."""
        return MemoryListener(self, refused)

    async def listen_http(self, connected: Connected, host: str, port: int) -> Listening:
        """Begin to listen for HTTP."""
        return await self.http.listen(connected, host, port)

    def listen(self, address: str, server: MemoryListener) -> str:
        """Give an address to a server; port 0 asks for a free one. Return the address."""
        host, _, port = address.rpartition(":")
        if port == "0":
            address = f"{host}:{next(self._ports)}"
        if address in self.servers:
            raise InputError(f"cannot listen on {address}: the port is taken; end what uses it")
        self.servers[address] = server
        return address


class MemoryChannel:
    """A way to one address; every call looks anew who is there."""

    def __init__(self, network: MemoryNetwork, address: str) -> None:
        self._network, self._address = network, address
        self._open: set[Exchange] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        """End the calls under way."""
        del grace
        for exchange in list(self._open):
            exchange.break_off(grpc.StatusCode.CANCELLED, "Channel closed!")

    def stream_stream(
        self, method: str, request_serializer: Any, response_deserializer: Any, **_: Any
    ) -> Any:
        """Return what a stub calls for a method with streams both ways."""
        return self._opener(method, request_serializer, response_deserializer, one_request=False)

    stream_unary = stream_stream

    def unary_stream(self, method: str, request_serializer: Any, response_deserializer: Any, **_: Any) -> Any:
        """Return what a stub calls for a method with one request."""
        return self._opener(method, request_serializer, response_deserializer, one_request=True)

    unary_unary = unary_stream

    def _opener(
        self, method: str, encode: Any, decode: Any, *, one_request: bool
    ) -> Callable[..., MemoryCall]:
        def opened(
            request: Any = None, *, timeout: float | None = None, metadata: Any = (), **_: Any
        ) -> MemoryCall:
            exchange = self._begin(method)
            exchange.metadata = metadata
            if one_request:
                exchange.requests.put(encode(request))
                exchange.requests.close()
            return MemoryCall(exchange, encode, decode, timeout)

        return opened

    def _begin(self, method: str) -> Exchange:
        """Start a call; whether somebody is there is found out when the loop comes to it."""
        exchange = Exchange()
        self._open.add(exchange)
        exchange.ended.add_done_callback(lambda _: self._open.discard(exchange))
        asyncio.get_running_loop().call_soon(self._connect, exchange, method)
        return exchange

    def _connect(self, exchange: Exchange, method: str) -> None:
        server = self._network.servers.get(self._address)
        if exchange.ended.done():
            return
        if server is None:
            exchange.finish(grpc.StatusCode.UNAVAILABLE, f"nobody listens at {self._address}")
        else:
            server.take(exchange, method)


class MemoryListener:
    """Serves what generated code adds to it, under one address."""

    def __init__(self, network: MemoryNetwork, refused: Callable[[], None] = nobody_counts) -> None:
        self._network, self._door = network, Door(network.credentials, refused)
        self.services: list[str] = []
        self._methods: dict[str, Any] = {}  # by full name: "/package.Service/Method"
        self._open: dict[Exchange, asyncio.Task[None]] = {}
        self._address: str | None = None
        self._context = copy_context()  # whose server it is: its methods run as its own tasks do

    def add_generic_rpc_handlers(self, handlers: Iterable[Any]) -> None:
        """Do nothing: generated code says the same once more, by name."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Serve the methods of a service."""
        self.services.append(service)
        self._methods |= {f"/{service}/{name}": handler for name, handler in handlers.items()}

    async def listen(self, address: str) -> int:
        """Begin to listen; return the port."""
        self._address = self._network.listen(address, self)
        return int(self._address.rpartition(":")[2])

    async def stop(self, grace: float) -> None:
        """Take no more calls, let those under way end for a moment, then end them."""
        if self._address is not None:
            del self._network.servers[self._address]
            self._address = None
        if self._open:
            await asyncio.wait(self._open.values(), timeout=grace)
        left = list(self._open.items())
        for exchange, _ in left:
            exchange.break_off(grpc.StatusCode.UNAVAILABLE, "the server has stopped")
        await asyncio.gather(*(task for _, task in left), return_exceptions=True)

    def take(self, exchange: Exchange, method: str) -> None:
        """Begin to serve a call, if it may enter."""
        if not self._door.admits(exchange.metadata):
            exchange.finish(REFUSED, self._door.turn_away("this process"))
            return
        handler = self._methods.get(method)
        if handler is None:
            exchange.finish(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
            return
        context = MemoryContext(exchange, handler.request_deserializer, handler.response_serializer)
        task = exchange.handler = asyncio.create_task(
            _serve(handler, context), name=method, context=self._context.copy()
        )
        self._open[exchange] = task
        task.add_done_callback(lambda done: self._served(exchange, done))
        exchange.begun.set()

    def _served(self, exchange: Exchange, task: asyncio.Task[None]) -> None:
        """Note that a method has returned; what it raised, which no method should, is told to both sides."""
        del self._open[exchange]
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            exchange.finish(grpc.StatusCode.CANCELLED, "the method was cancelled")
        elif error is not None and not isinstance(error, AbortError):
            exchange.finish(grpc.StatusCode.UNKNOWN, f"Unexpected {type(error)}: {error}")
            context = {"message": f"a method raised: {task.get_name()}", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)


async def _serve(handler: Any, context: MemoryContext) -> None:
    """Run a method in the style it is written in: its answer returned, yielded, or written."""
    request = context.requests() if handler.request_streaming else await context.read()
    methods = (handler.unary_unary, handler.unary_stream, handler.stream_unary, handler.stream_stream)
    method = next(each for each in methods if each is not None)
    answers = method(request, context)
    if inspect.isasyncgen(answers):
        async for answer in answers:
            await context.write(answer)
    else:
        answer = await answers
        if not handler.response_streaming:
            await context.write(answer)
    context.over()
