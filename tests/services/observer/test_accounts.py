"""The broker's account over a real stream: kept, answered, sent again, refused where it cannot be."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from waiting import PATIENCE

from edgefw.core.account import Entry, Kind
from edgefw.services.observer.accounts import Accounts
from edgefw.transport import account_client, server
from edgefw.transport.account_client import AccountClient
from edgefw.transport.channel import GRPC
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1 import observer_service_pb2_grpc as stubs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Sequence

LIMIT = PATIENCE
RUN, N, ROUNDS = "digest/run", 2, 5


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an observer go away at once, as one that crashes does."""
    monkeypatch.setattr(server, "GRACE", 0.0)


class Desk(stubs.ObserverServiceServicer):
    """An observer that takes accounts only, and can be away."""

    def __init__(self) -> None:
        self.kept: list[Entry] = []
        self.port = 0
        self.accounts = Accounts(RUN, N, ROUNDS, self.keep)

    async def keep(self, entries: Sequence[Entry]) -> None:
        self.kept += entries

    async def Account(self, requests: AsyncIterator[Any], context: Any) -> None:  # noqa: N802 - gRPC's name
        await self.accounts.serve(requests, context)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        listener = server.RpcServer()
        add = partial(stubs.add_ObserverServiceServicer_to_server, self)
        self.port = await listener.start(f"127.0.0.1:{self.port}", add)
        try:
            yield f"127.0.0.1:{self.port}"
        finally:
            await listener.stop()

    async def has(self, count: int) -> None:
        while len(self.kept) < count:  # noqa: ASYNC110 - run() bounds it
            await asyncio.sleep(0.005)


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(LIMIT):
            await test

    asyncio.run(bounded())


def accepted(s: int, agent: int = 0) -> Entry:
    return Entry(100 * s + agent, Kind.ACCEPTED, agent, s, 1, 7 * s, f"{s:032x}", 0.5 * s)


@asynccontextmanager
async def telling(address: str) -> AsyncIterator[AccountClient]:
    client = AccountClient(address, RUN)
    task = asyncio.create_task(client.run())
    try:
        yield client
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_entries_arrive_as_they_were_and_in_order() -> None:
    plan = Entry(5, Kind.PLAN, round=3, version=1, plan='{"entries":[]}', what="all is set", who="me at home")
    never = Entry(150, Kind.ACCEPTED, 1, 1, 1, None, None, 0.0)
    entries = [Entry(3, Kind.BEGUN, version=1), plan, accepted(1), never, Entry(160, Kind.DROPPED, 1, 1, 1)]

    async def test() -> None:
        desk = Desk()
        async with desk.listening() as address, telling(address) as client:
            for entry in entries:
                client.add(entry)
            await desk.has(len(entries))
            await client.settled()
        assert desk.kept == entries

    run(test())


def test_what_was_not_kept_is_sent_again_when_the_observer_is_back_and_nothing_twice() -> None:
    async def test() -> None:
        desk = Desk()
        async with desk.listening() as address:
            pass  # now there is an address, and nobody at it
        async with telling(address) as client:
            for s in (1, 2):
                client.add(accepted(s))
            async with desk.listening():
                await desk.has(2)
            for s in (3, 4):
                client.add(accepted(s))
            async with desk.listening():
                await desk.has(4)
        assert desk.kept == [accepted(s) for s in (1, 2, 3, 4)]

    run(test())


def test_a_broker_that_tells_again_what_is_kept_changes_nothing() -> None:
    async def test() -> None:
        desk = Desk()
        async with desk.listening() as address:
            async with telling(address) as client:
                client.add(accepted(1))
                await desk.has(1)
            async with telling(address) as again:  # after a restart, when it does not know the hash any more
                again.add(accepted(1)._replace(hash=None))
                again.add(accepted(2))
                await desk.has(2)
        assert desk.kept == [accepted(1), accepted(2)]

    run(test())


def test_the_observer_waits_a_moment_for_the_last_entries_and_no_longer() -> None:
    async def test() -> None:
        desk = Desk()
        assert not await desk.accounts.covers(1, LIMIT)  # there is no broker that would tell
        async with desk.listening() as address, telling(address) as client:
            client.add(accepted(1, agent=0))
            await desk.has(1)
            assert not await desk.accounts.covers(1, 0.01)
            covering = asyncio.create_task(desk.accounts.covers(1, LIMIT))
            client.add(accepted(1, agent=1))
            assert await covering

    run(test())


def test_an_observer_that_stops_does_not_wait_for_the_broker_to_go() -> None:
    async def test() -> None:
        desk = Desk()
        async with desk.listening() as address, GRPC.open_channel(address) as channel:
            call = stubs.ObserverServiceStub(channel).Account()
            await call.write(pb.AccountRequest(run_id=RUN))
            await call.read()
            desk.accounts.close()
            assert await call.read() is grpc.aio.EOF
            assert await call.code() is grpc.StatusCode.OK

    run(test())


def test_an_observer_of_another_run_is_told_nothing_and_nobody_waits_for_it() -> None:
    async def test() -> None:
        desk = Desk()
        async with desk.listening() as address:
            client = AccountClient(address, "digest/another")
            client.add(accepted(1))
            await client.run()  # it ends
            await client.settled()
            client.add(accepted(2))
            await client.settled()
        assert desk.kept == []

    run(test())


def test_an_account_that_grows_while_nobody_takes_it_has_a_hole_that_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(account_client, "MOST", 3)

    async def test() -> None:
        desk = Desk()
        async with desk.listening() as address:
            pass
        client = AccountClient(address, RUN)
        for moment in range(1, 8):
            client.add(Entry(moment, Kind.REDUE, 0, 0, 1))
        task = asyncio.create_task(client.run())
        async with desk.listening():
            await desk.has(4)
            await client.settled()
            client.add(Entry(9, Kind.REDUE, 0, 0, 1))
            await desk.has(5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        told = [(entry.moment, entry.kind) for entry in desk.kept]
        assert told == [(1, 5), (2, 5), (3, 5), (4, Kind.LOST), (9, 5)]

    run(test())


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([pb.AccountEntry(moment=1, kind="ACCOUNT_KIND_UNSPECIFIED")], "no entries of kind 0"),
        ([pb.AccountEntry(moment=1, kind="ACCOUNT_KIND_REDUE", agent=2)], "there is no round 0 of agent 2"),
        ([pb.AccountEntry(moment=1, kind="ACCOUNT_KIND_REDUE", round=6)], "there is no round 6 of agent 0"),
        ([pb.AccountEntry(moment=1, kind="ACCOUNT_KIND_ACCEPTED", hash=b"short")], "cannot be"),
        ([pb.AccountEntry(moment=1, kind="ACCOUNT_KIND_ACCEPTED", norm=float("nan"))], "cannot be"),
        (
            [pb.AccountEntry(moment=m, kind="ACCOUNT_KIND_REDUE") for m in (2, 1)],
            "in the order of their moments",
        ),
        (
            [pb.AccountEntry(moment=m, kind="ACCOUNT_KIND_REDUE") for m in (1, 1)],
            "in the order of their moments",
        ),
    ],
)
def test_entries_that_cannot_be_are_refused_and_none_is_kept(
    messages: list[pb.AccountEntry], expected: str
) -> None:
    async def test() -> None:
        desk = Desk()
        async with desk.listening() as address, GRPC.open_channel(address) as channel:
            call = stubs.ObserverServiceStub(channel).Account()
            await call.write(pb.AccountRequest(run_id=RUN))
            assert (await call.read()).moment == 0
            await call.write(pb.AccountRequest(entries=messages))
            with pytest.raises(grpc.aio.AioRpcError, match=expected) as refusal:
                await call.read()
            assert refusal.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert desk.kept == []

    run(test())
