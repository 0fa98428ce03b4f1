"""Messages that are kept until they are answered, in batches, some ahead of the answers; over memory."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from edgefw.core.account import Entry, Kind
from edgefw.transport.account_client import AccountClient
from edgefw.transport.memory import MemoryNetwork
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1 import observer_service_pb2_grpc as stubs
from edgefw.virtual import loop as virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Client(AccountClient):
    """Sends two messages as one, and five ahead of their answers at most."""

    batch, ahead = 2, 5


class Observer(stubs.ObserverServiceServicer):
    """Has entries up to a moment, and answers when it is told to."""

    def __init__(self) -> None:
        self.streams: list[list[list[int]]] = []  # the moments in each message of each stream
        self._contexts: list[Any] = []

    async def Account(self, requests: AsyncIterator[Any], context: Any) -> None:  # noqa: N802 - gRPC's name
        messages: list[list[int]] = []
        await anext(requests)
        self.streams.append(messages)
        self._contexts.append(context)
        await context.write(pb.AccountResponse(moment=0))
        while (request := await anext(requests, None)) is not None:
            messages.append([entry.moment for entry in request.entries])

    async def answer(self, moment: int) -> None:
        await self._contexts[-1].write(pb.AccountResponse(moment=moment))
        await asyncio.sleep(1)  # of a clock that costs nothing


@asynccontextmanager
async def telling(observer: Observer, moments: range) -> AsyncIterator[tuple[Client, Any]]:
    network = MemoryNetwork()
    server = network.listener()
    stubs.add_ObserverServiceServicer_to_server(observer, server)
    port = await server.listen("observer:0")
    client = Client(f"observer:{port}", "run", network)
    for moment in moments:
        client.add(Entry(moment, Kind.REDUE, 0, 0, 1))
    task = asyncio.create_task(client.run())
    await asyncio.sleep(1)
    yield client, partial(again, server, network, observer, port)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def again(server: Any, network: MemoryNetwork, observer: Observer, port: int) -> None:
    """Let the observer go away and come back."""
    await server.stop(0)
    server = network.listener()
    stubs.add_ObserverServiceServicer_to_server(observer, server)
    await server.listen(f"observer:{port}")
    await asyncio.sleep(5)


def test_so_many_go_as_one_and_so_many_ahead_of_their_answers() -> None:
    async def test() -> None:
        observer = Observer()
        async with telling(observer, range(1, 10)) as (client, _):
            assert observer.streams == [[[1, 2], [3, 4], [5]]]
            await observer.answer(3)
            assert observer.streams[0][3:] == [[6, 7], [8]]
            await observer.answer(8)
            assert observer.streams[0][5:] == [[9]]
            await observer.answer(9)
            await client.settled()

    virtual_time.run(test())


def test_a_new_stream_gets_what_was_not_answered_in_order_and_nothing_else() -> None:
    async def test() -> None:
        observer = Observer()
        async with telling(observer, range(1, 6)) as (client, come_again):
            await observer.answer(2)
            await come_again()
            assert observer.streams[1] == [[3, 4], [5]]
            await observer.answer(5)
            await client.settled()

    virtual_time.run(test())


def test_nobody_waits_for_an_observer_that_is_away() -> None:
    async def test() -> None:
        client = Client("observer:1", "run", MemoryNetwork())
        client.add(Entry(1, Kind.REDUE, 0, 0, 1))
        await client.settled()

    virtual_time.run(test())
