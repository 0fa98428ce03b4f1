"""Services of one process that reach each other without a network: the twin of the gRPC transport.

`MemoryNetwork` is a world of its own: servers listen in it under addresses, channels reach them. Messages are
really encoded, so nobody shares an object with anybody. Only what generated stubs and servicers use is here.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import grpc
from grpc.aio import AbortError

from edgefw.errors import InputError
from edgefw.transport.memory_call import Call, Context, Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class _Method(NamedTuple):
    """What gRPC asks a generic handler about."""

    method: str
    invocation_metadata: tuple[Any, ...] = ()


class MemoryNetwork:
    """Who listens where."""

    def __init__(self) -> None:
        self._servers: dict[str, MemoryListener] = {}
        self._next_port = 1

    def open_channel(self, address: str) -> MemoryChannel:
        """Return a channel to whoever listens at `address` when a call is made."""
        return MemoryChannel(self, address)

    def listener(self) -> MemoryListener:
        """Return a server that does not listen yet."""
        return MemoryListener(self)

    def listen(self, address: str, server: MemoryListener) -> str:
        """Give an address to a server; port 0 asks for a free one. Return the address."""
        host, _, port = address.rpartition(":")
        if port == "0":
            address, self._next_port = f"{host}:{self._next_port}", self._next_port + 1
        if address in self._servers:
            raise InputError(f"cannot listen on {address}: the port is taken; end what uses it")
        self._servers[address] = server
        return address

    def leave(self, address: str) -> None:
        """Take an address back."""
        self._servers.pop(address, None)

    def at(self, address: str) -> MemoryListener | None:
        """Return who listens at an address."""
        return self._servers.get(address)


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

    def _opener(self, method: str, encode: Any, decode: Any, *, one_request: bool) -> Callable[..., Call]:
        def opened(request: Any = None, *, timeout: float | None = None, **_: Any) -> Call:
            exchange = self._begin(method)
            if one_request:
                exchange.requests.put(encode(request))
                exchange.requests.close()
            return Call(exchange, encode, decode, timeout)

        return opened

    def _begin(self, method: str) -> Exchange:
        """Start a call; whether somebody is there is found out when the loop comes to it."""
        exchange = Exchange()
        self._open.add(exchange)
        exchange.ended.add_done_callback(lambda _: self._open.discard(exchange))
        asyncio.get_running_loop().call_soon(self._connect, exchange, method)
        return exchange

    def _connect(self, exchange: Exchange, method: str) -> None:
        server = self._network.at(self._address)
        if exchange.ended.done():
            return
        if server is None:
            exchange.finish(grpc.StatusCode.UNAVAILABLE, f"nobody listens at {self._address}")
        else:
            server.take(exchange, method)


class MemoryListener:
    """Serves what generated code adds to it, under one address."""

    def __init__(self, network: MemoryNetwork) -> None:
        self._network = network
        self._generic: list[Any] = []
        self._methods: dict[str, Any] = {}  # by full name: "/package.Service/Method"
        self._open: dict[Exchange, asyncio.Task[None]] = {}
        self._address: str | None = None

    def add_generic_rpc_handlers(self, handlers: Iterable[Any]) -> None:
        """Serve what these handlers know."""
        self._generic.extend(handlers)

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Serve the methods of a service."""
        self._methods |= {f"/{service}/{name}": handler for name, handler in handlers.items()}

    async def listen(self, address: str, names: Sequence[str] = ()) -> int:
        """Begin to listen; return the port."""
        del names  # there is nobody else to ask
        self._address = self._network.listen(address, self)
        return int(self._address.rpartition(":")[2])

    async def stop(self, grace: float) -> None:
        """Take no more calls, let those under way end for a moment, then end them."""
        if self._address is not None:
            self._network.leave(self._address)
            self._address = None
        if self._open:
            await asyncio.wait(self._open.values(), timeout=grace)
        left = list(self._open.items())
        for exchange, _ in left:
            exchange.break_off(grpc.StatusCode.UNAVAILABLE, "the server has stopped")
        await asyncio.gather(*(task for _, task in left), return_exceptions=True)

    def take(self, exchange: Exchange, method: str) -> None:
        """Begin to serve a call."""
        handler = self._find(method)
        if handler is None:
            exchange.finish(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
            return
        context = Context(exchange, handler.request_deserializer, handler.response_serializer)
        task = exchange.handler = asyncio.create_task(_serve(handler, context), name=method)
        self._open[exchange] = task
        task.add_done_callback(lambda done: self._served(exchange, done))
        exchange.begun.set()

    def _find(self, method: str) -> Any:
        if method in self._methods:
            return self._methods[method]
        found = (handler.service(_Method(method)) for handler in self._generic)
        return next((handler for handler in found if handler is not None), None)

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


async def _serve(handler: Any, context: Context) -> None:
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
