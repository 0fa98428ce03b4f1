"""A network in memory on which messages take their time, links are cut, and processes vanish.

Theory of operation. It is the memory transport, with two differences. A pipe hands a message over when its
latency is over, never before the one that was sent before it. And every call knows whose lives its two ends
belong to: so the calls of a life that ends can be broken off, as an operating system does it, and those of a
link that is cut stand still until it is healed, or until keepalive takes them for dead.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.transport.channel import ALIVE, ANSWER
from edgefw.transport.door import nobody_counts
from edgefw.transport.memory import MemoryChannel, MemoryListener, MemoryNetwork
from edgefw.transport.memory_call import Exchange, Pipe
from universes.life import LIFE

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from edgefw.http.listening import Connected, Listening
    from universes.life import Life
    from universes.wire import Wire

KEEPALIVE = (ALIVE + ANSWER) / 1000  # seconds after which a silent connection is ended
_RESET = (grpc.StatusCode.UNAVAILABLE, "connection reset")


class UniverseNetwork(MemoryNetwork):
    """Who is connected to whom; `latency` draws the seconds that a message takes."""

    def __init__(self, latency: Callable[[], float], wire: Wire, nobody: Context) -> None:
        super().__init__()
        self.latency, self.wire = latency, wire
        self.nobody = nobody  # a context of no life: what is on its way arrives, whoever has died
        self._cut: set[frozenset[str]] = set()
        self._calls: dict[_Call, None] = {}
        self._http: list[_HttpListening] = []
        self.began: Callable[[], None] = lambda: None  # somebody listens, and has not heard anything yet

    def listen(self, address: str, server: MemoryListener) -> str:
        found = super().listen(address, server)
        self.began()
        return found

    def open_channel(self, address: str, service: str = "") -> MemoryChannel:
        del service
        return _Channel(self, address)

    def listener(self, refused: Callable[[], None] = nobody_counts) -> MemoryListener:
        return _Listener(self, refused)

    async def listen_http(self, connected: Connected, host: str, port: int) -> Listening:
        listening = _HttpListening(connected, LIFE.get())
        listening.inner = await self.http.listen(listening.take, host, port)
        listening.port = port
        self._http.append(listening)
        return listening

    @property
    def calls(self) -> list[_Call]:
        """The calls under way."""
        return [call for call in self._calls if not call.ended.done()]

    @property
    def listening(self) -> list[str]:
        """Where somebody listens."""
        return [*self.servers, *(f"http:{each.port}" for each in self._http if not each.closed)]

    def enter(self, call: _Call) -> None:
        """Note a new call."""
        self._calls[call] = None
        call.ended.add_done_callback(lambda _: self._calls.pop(call, None), context=self.nobody)

    def sever(self, life: Life, *, lost: bool) -> None:
        """Break off all that a life is connected to. `lost`: what is on its way does not arrive."""
        for address, server in list(self.servers.items()):
            if isinstance(server, _Listener) and server.life is life:
                del self.servers[address]
                server.forget()
        for each in self._http:
            if each.life is life:
                each.vanish()
        self._http = [each for each in self._http if not each.closed]
        for call in self.calls:
            if life in {call.client, call.server}:
                call.reset(life, lost=lost)

    def is_cut(self, one: str, other: str) -> bool:
        """Whether the link between two services is cut."""
        return frozenset((one, other)) in self._cut

    def cut(self, one: str, other: str, *, silently: bool) -> None:
        """Cut a link; silently, as a cable is, or so that both ends hear of it."""
        self._cut.add(frozenset((one, other)))
        for call in self._between(one, other):
            if silently:
                asyncio.get_running_loop().call_later(KEEPALIVE, self._give_up, call)
            else:
                call.break_off(*_RESET)

    def heal(self, one: str, other: str) -> None:
        """Mend a link; what stood still on it arrives."""
        self._cut.discard(frozenset((one, other)))
        for call in self._between(one, other):
            call.go_on()

    def _give_up(self, call: _Call) -> None:
        if call.stands_still:
            call.break_off(*_RESET)

    def _between(self, one: str, other: str) -> list[_Call]:
        return [call for call in self.calls if call.names == {one, other}]


class _Call(Exchange):
    """A call between two lives."""

    def __init__(self, network: UniverseNetwork, method: str) -> None:
        super().__init__()
        self._network, self.method = network, method.rpartition("/")[2]
        self.client = LIFE.get()
        self.server: Life | None = None
        self.asked: Any = None  # the request of a call that has one
        self.requests: _LatePipe = _LatePipe(network, self, asks=True)
        self.responses: _LatePipe = _LatePipe(network, self, asks=False)
        network.enter(self)

    def __hash__(self) -> int:
        return id(self)

    @property
    def names(self) -> set[str]:
        """Who is at its ends."""
        return {life.name for life in (self.client, self.server) if life is not None}

    @property
    def stands_still(self) -> bool:
        """Whether its link is cut; the last messages of a call that has ended arrive all the same."""
        names = self.names
        return not self.ended.done() and len(names) == 2 and self._network.is_cut(*names)

    def go_on(self) -> None:
        """Let arrive what stood still."""
        self.requests.go_on()
        self.responses.go_on()

    def reset(self, gone: Life, *, lost: bool) -> None:
        """Tell the end that is left that the other one has gone."""
        if gone is self.client:
            self.break_off(*_RESET)
            return
        self.finish(*_RESET)  # not its handler: that is to run no more
        if lost:
            self.responses.break_off()


class _LatePipe(Pipe):
    """Hands messages over when they have arrived."""

    def __init__(self, network: UniverseNetwork, call: _Call, *, asks: bool) -> None:
        super().__init__()
        self._network, self._call, self._asks = network, call, asks
        self._way: deque[bytes | None] = deque()  # None: the end
        self._ripe = 0  # how many of them have had their time
        self._last = 0.0
        self._over = False  # nothing more will be sent

    def put(self, message: bytes) -> bool:
        if self._over or self._closed:
            return False
        self._network.wire.wrote(self._call, message, asks=self._asks)
        self._size += len(message)
        self._send(message)
        return True

    async def read(self) -> bytes | None:
        message = await super().read()
        if message is not None:
            self._network.wire.read(self._call, message, asks=self._asks)
        return message

    def close(self) -> None:
        if not self._over and not self._closed:
            self._over = True
            self._send(None)

    def break_off(self) -> None:
        self._way.clear()
        super().break_off()

    def go_on(self) -> None:
        """Let arrive what has had its time."""
        while self._way and self._ripe and not self._call.stands_still:
            message = self._way.popleft()
            self._ripe -= 1
            if message is None:
                super().close()
            else:
                self._messages.append(message)
                self._changed.set()

    def _send(self, message: bytes | None) -> None:
        loop = asyncio.get_running_loop()
        self._last = max(self._last, loop.time() + self._network.latency())
        self._way.append(message)
        if self._last <= loop.time():
            self._arrive()
        else:
            loop.call_at(self._last, self._arrive, context=self._network.nobody)

    def _arrive(self) -> None:
        self._ripe += 1
        self.go_on()


class _Channel(MemoryChannel):
    _network: UniverseNetwork

    def _begin(self, method: str) -> Exchange:
        call, network = _Call(self._network, method), self._network
        self._open.add(call)
        call.ended.add_done_callback(lambda _: self._open.discard(call), context=network.nobody)
        loop = asyncio.get_running_loop()
        loop.call_later(network.latency(), self._connect, call, method, context=network.nobody)
        return call

    def _connect(self, exchange: Exchange, method: str) -> None:
        server = self._network.servers.get(self._address)
        assert isinstance(exchange, _Call)
        lives = exchange.client, server.life if isinstance(server, _Listener) else None
        names = [life.name for life in lives if life is not None]
        if len(names) == 2 and self._network.is_cut(*names):
            exchange.finish(grpc.StatusCode.UNAVAILABLE, "no route to host")
        else:
            super()._connect(exchange, method)


class _Listener(MemoryListener):
    def __init__(self, network: MemoryNetwork, refused: Callable[[], None]) -> None:
        super().__init__(network, refused)
        self.life = LIFE.get()

    def forget(self) -> None:
        """Listen no longer: whoever has this address now is another."""
        self._address = None

    def take(self, exchange: Exchange, method: str) -> None:
        assert isinstance(exchange, _Call)
        exchange.server = self.life
        super().take(exchange, method)


class _HttpListening:
    """A life that listens for HTTP, and the connections that it has."""

    def __init__(self, connected: Connected, life: Life | None) -> None:
        self._connected, self.life = connected, life
        self.inner: Listening | None = None
        self.port = 0
        self.closed = False
        self._writers: list[Any] = []

    def take(self, reader: Any, writer: Any) -> None:
        self._writers.append(writer)
        self._connected(reader, writer)

    def close(self) -> None:
        """Take no more connections; a second time, leave whoever listens there now alone."""
        if not self.closed and self.inner is not None:
            self.inner.close()
        self.closed = True

    def vanish(self) -> None:
        """End with all connections."""
        self.close()
        for writer in self._writers:
            writer.abort()

    async def wait_closed(self) -> None:
        """Return at once."""
