"""Who may enter: with the run's token all calls work, without it none does, over gRPC and over memory."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from waiting import PATIENCE

from edgefw.errors import InputError
from edgefw.transport.channel import GRPC, GrpcTransport
from edgefw.transport.credentials import NONE, Credentials
from edgefw.transport.door import KEY, TOLD
from edgefw.transport.memory import MemoryNetwork
from edgefw.transport.server import RpcServer, until_serving
from edgefw.v1 import broker_service_pb2 as broker
from edgefw.v1 import observer_service_pb2 as observer
from edgefw.v1.broker_service_pb2_grpc import (
    BrokerServiceServicer,
    BrokerServiceStub,
    add_BrokerServiceServicer_to_server,
)
from edgefw.v1.observer_service_pb2_grpc import (
    ObserverServiceServicer,
    ObserverServiceStub,
    add_ObserverServiceServicer_to_server,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from edgefw.transport.seam import Transport

RIGHT = Credentials("the-token-of-this-run")
OTHERS = {
    "none": NONE,
    "another run's": Credentials("the-token-of-another"),
    "a part": Credentials("the-token-of-this-ru"),
}
EVERYTHING = health_pb2.HealthCheckRequest(service="")


class Everyone(BrokerServiceServicer, ObserverServiceServicer):
    """Says yes to everything, and remembers that it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def Submit(self, requests: Any, context: Any) -> None:  # noqa: N802
        async for request in requests:
            self.asked.append("Submit")
            await context.write(broker.SubmitResponse(round=request.round))

    async def Collect(self, _request: Any, context: Any) -> None:  # noqa: N802
        self.asked.append("Collect")
        await context.write(broker.CollectResponse())

    async def Join(self, _request: Any, context: Any) -> None:  # noqa: N802
        self.asked.append("Join")
        await context.write(observer.JoinResponse(joined=observer.Joined(run_id="the identity of the run")))


class World(NamedTuple):
    """A server, and ways to it: `seen_by` returns the network as somebody with other credentials sees it."""

    address: str
    seen_by: Callable[[Credentials], Transport]
    servicer: Everyone
    refused: list[None]


@asynccontextmanager
async def served(seen_by: Callable[[Credentials], Transport]) -> AsyncIterator[World]:
    servicer, refused = Everyone(), list[None]()
    server = RpcServer(seen_by(RIGHT), lambda: refused.append(None))
    port = await server.start(
        "127.0.0.1:0",
        lambda to: add_BrokerServiceServicer_to_server(servicer, to),
        lambda to: add_ObserverServiceServicer_to_server(servicer, to),
    )
    await server.ready()
    try:
        yield World(f"127.0.0.1:{port}", seen_by, servicer, refused)
    finally:
        await server.stop()


@pytest.fixture(params=["grpc", "memory"])
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[World], Awaitable[None]]], None]:
    def run(test: Callable[[World], Awaitable[None]]) -> None:
        async def body() -> None:
            seen_by = GrpcTransport if request.param == "grpc" else MemoryNetwork().holding
            async with asyncio.timeout(PATIENCE), served(seen_by) as world:
                await test(world)

        asyncio.run(body())

    return run


async def submit(channel: Any) -> Any:
    call = BrokerServiceStub(channel).Submit()
    await call.write(broker.SubmitRequest(round=7))
    return await call.read()


async def collect(channel: Any) -> Any:
    return await BrokerServiceStub(channel).Collect(broker.CollectRequest()).read()


async def join(channel: Any) -> Any:
    return await ObserverServiceStub(channel).Join(observer.JoinRequest()).read()


async def ask_health(channel: Any) -> Any:
    return await health_pb2_grpc.HealthStub(channel).Watch(EVERYTHING).read()


async def not_there(channel: Any) -> Any:
    return await channel.stream_stream("/none.Such/Method", bytes, bytes)().read()


CALLS = [submit, collect, join, ask_health, not_there]


@pytest.mark.parametrize("whose", OTHERS)
@pytest.mark.parametrize("call", CALLS)
def test_no_call_without_the_token_reaches_anybody(
    run: Any, call: Any, whose: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(world: World) -> None:
        async with world.seen_by(OTHERS[whose]).open_channel(world.address) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(channel)
        assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.UNAUTHENTICATED, TOLD)
        assert (world.servicer.asked, len(world.refused)) == ([], 1)

    with caplog.at_level(logging.INFO):
        run(test)
    (line,) = [record.getMessage() for record in caplog.records if record.name.startswith("edgefw")]
    assert line.startswith("refused a call from ")
    assert line.endswith(": it does not carry the run's token (1 so far)")
    assert not any(each.token in caplog.text for each in (RIGHT, *OTHERS.values()) if each.token)


def test_with_the_token_every_call_works_and_none_is_counted(run: Any) -> None:
    async def test(world: World) -> None:
        async with world.seen_by(RIGHT).open_channel(world.address) as channel:
            assert (await submit(channel)).round == 7
            await collect(channel)
            assert (await join(channel)).joined.run_id
            assert (await ask_health(channel)).status == health_pb2.HealthCheckResponse.SERVING
            with pytest.raises(grpc.aio.AioRpcError, match="UNIMPLEMENTED"):
                await not_there(channel)
        await until_serving(world.address, world.seen_by(RIGHT))
        assert world.servicer.asked == ["Submit", "Collect", "Join"]
        assert not world.refused

    run(test)


def test_a_token_that_is_given_twice_is_none(run: Any) -> None:
    async def test(world: World) -> None:
        async with world.seen_by(NONE).open_channel(world.address) as channel:
            twice = ((KEY, RIGHT.token), (KEY, RIGHT.token))
            with pytest.raises(grpc.aio.AioRpcError, match="UNAUTHENTICATED"):
                await ObserverServiceStub(channel).Join(observer.JoinRequest(), metadata=twice).read()

    run(test)


def test_a_stranger_fills_no_log(run: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def test(world: World) -> None:
        async with world.seen_by(NONE).open_channel(world.address) as channel:
            for _ in range(120):
                with pytest.raises(grpc.aio.AioRpcError):
                    await ask_health(channel)
        assert len(world.refused) == 120

    with caplog.at_level(logging.INFO):
        run(test)
    said = [record.getMessage() for record in caplog.records if "refused a call" in record.getMessage()]
    assert [line.rpartition("(")[2] for line in said] == ["1 so far)", "10 so far)", "100 so far)"]


def test_reflection_tells_a_stranger_nothing() -> None:
    async def test() -> None:
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        async with asyncio.timeout(PATIENCE), served(GrpcTransport) as world:
            for who, told in ((NONE, False), (RIGHT, True)):
                async with world.seen_by(who).open_channel(world.address) as channel:
                    call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
                    try:
                        await call.write(asked)
                        assert (await call.read()).HasField("list_services_response") is told
                    except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                        assert not told
                        assert await call.code() is grpc.StatusCode.UNAUTHENTICATED

    asyncio.run(test())


def test_without_a_token_a_service_listens_on_this_machine_alone() -> None:
    async def test() -> None:
        with pytest.raises(InputError, match=r"would listen on 0\.0\.0\.0:0, where strangers can reach it"):
            await GRPC.listener().listen("0.0.0.0:0")
        listener = GrpcTransport(RIGHT).listener()
        assert await listener.listen("0.0.0.0:0")
        await listener.stop(0)

    asyncio.run(test())
