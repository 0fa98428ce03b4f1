"""The two transports are twins: each test runs over gRPC on loopback and over memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from grpc.aio import EOF, AioRpcError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from edgefw.errors import InputError
from edgefw.transport.memory import MemoryNetwork
from edgefw.transport.memory_call import ROOM
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1 import broker_service_pb2_grpc as broker

LONG = 30.0  # seconds: no test waits for it to pass
Method = Callable[..., Any]
Body = Callable[["World"], Awaitable[None]]


class World:
    """A server with one servicer, and a channel to it."""

    def __init__(self, channel: Any, stop: Callable[[], Awaitable[None]]) -> None:
        self.channel, self.stop = channel, stop
        self.stub = broker.BrokerServiceStub(channel)


class Servicer(broker.BrokerServiceServicer):
    """Methods given by a test."""

    def __init__(self, **methods: Method) -> None:
        for name, method in methods.items():
            setattr(self, name, method)


@asynccontextmanager
async def over_grpc(servicer: Servicer) -> AsyncIterator[World]:
    server = grpc.aio.server()
    _add(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield World(channel, lambda: server.stop(0))
    await server.stop(0)


@asynccontextmanager
async def over_memory(servicer: Servicer) -> AsyncIterator[World]:
    network = MemoryNetwork()
    server = network.listener()
    _add(servicer, server)
    port = await server.listen("here:0")
    async with network.open_channel(f"here:{port}") as channel:
        yield World(channel, lambda: server.stop(0))
    await server.stop(0)


def _add(servicer: Servicer, server: Any) -> None:
    broker.add_BrokerServiceServicer_to_server(servicer, server)
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)


@pytest.fixture(params=[over_grpc, over_memory], ids=["grpc", "memory"])
def run(request: pytest.FixtureRequest) -> Callable[..., None]:
    def run_over(test: Body, **methods: Method) -> None:
        async def body() -> None:
            async with asyncio.timeout(LONG), request.param(Servicer(**methods)) as world:
                await test(world)

        asyncio.run(body())

    return run_over


def submission(s: int, payload: bytes = b"x") -> pb.SubmitRequest:
    return pb.SubmitRequest(round=s, payload=payload)


async def echo(_requests: Any, context: Any) -> None:
    while (request := await context.read()) is not EOF:
        await context.write(pb.SubmitResponse(round=request.round))


async def ended(call: Any) -> tuple[grpc.StatusCode, str]:
    """Return how a call ends whose messages are read to their end."""
    try:
        while await call.read() is not EOF:
            pass
    except AioRpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, ""


def test_a_stream_carries_messages_both_ways_in_order(run: Any) -> None:
    async def body(world: World) -> None:
        call = world.stub.Submit()
        for s in range(1, 101):
            await call.write(submission(s))
        await call.done_writing()
        assert [answer.round async for answer in call] == list(range(1, 101))
        assert await call.code() is grpc.StatusCode.OK

    run(body, Submit=echo)


def test_a_method_may_take_an_iterator_and_yield(run: Any) -> None:
    async def doubled(requests: AsyncIterator[Any], _context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield pb.SubmitResponse(round=2 * request.round)

    async def body(world: World) -> None:
        call = world.stub.Submit()
        await call.write(submission(21))
        assert (await call.read()).round == 42
        await call.done_writing()
        assert await call.read() is EOF
        assert await call.read() is EOF

    run(body, Submit=doubled)


def test_one_request_may_have_many_answers(run: Any) -> None:
    async def collect(request: Any, context: Any) -> None:
        for s in range(request.round):
            await context.write(pb.CollectResponse(delivery=pb.Delivery(round=s)))

    async def body(world: World) -> None:
        call = world.stub.Collect(pb.CollectRequest(round=3), timeout=LONG)
        assert [answer.delivery.round async for answer in call] == [0, 1, 2]

    run(body, Collect=collect)


def test_one_request_may_have_one_answer(run: Any) -> None:
    async def body(world: World) -> None:
        stub = health_pb2_grpc.HealthStub(world.channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest())
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(AioRpcError) as caught:
            await stub.Check(health_pb2.HealthCheckRequest(service="nobody"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND

    run(body)


def test_nobody_shares_an_object_with_the_other_side(run: Any) -> None:
    received = []

    async def keep(_requests: Any, context: Any) -> None:
        received.append(await context.read())
        await context.write(pb.SubmitResponse(round=1))

    async def body(world: World) -> None:
        call, sent = world.stub.Submit(), submission(1, b"before")
        await call.write(sent)
        await call.read()
        sent.payload = b"after"
        assert received[0].payload == b"before"

    run(body, Submit=keep)


def test_an_abort_comes_after_what_was_written_with_its_status(run: Any) -> None:
    async def refuse(_requests: Any, context: Any) -> None:
        await context.write(pb.SubmitResponse(round=7))
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "full")

    async def body(world: World) -> None:
        call = world.stub.Submit()
        assert (await call.read()).round == 7
        assert await ended(call) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "full")
        assert await ended(call) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "full")
        assert call.done()
        assert not call.cancelled()

    run(body, Submit=refuse)


def test_a_call_that_has_ended_cannot_be_written_to(run: Any) -> None:
    async def refuse(_requests: Any, context: Any) -> None:
        await context.abort(grpc.StatusCode.NOT_FOUND, "no")

    async def body(world: World) -> None:
        call = world.stub.Submit()
        await ended(call)
        with pytest.raises(asyncio.InvalidStateError):
            await call.write(submission(1))

    run(body, Submit=refuse)


def test_a_method_that_is_not_served_is_said(run: Any) -> None:
    async def body(world: World) -> None:
        method = world.channel.stream_stream(
            "/edgefw.v1.BrokerService/Nothing",
            request_serializer=pb.SubmitRequest.SerializeToString,
            response_deserializer=pb.SubmitResponse.FromString,
        )
        assert (await ended(method()))[0] is grpc.StatusCode.UNIMPLEMENTED

    run(body)


def test_a_client_that_cancels_cancels_the_method(run: Any) -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def wait(_requests: Any, context: Any) -> None:
        began.set()
        try:
            await context.read()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def body(world: World) -> None:
        call = world.stub.Submit()
        await began.wait()
        assert call.cancel()
        await cancelled.wait()
        with pytest.raises(asyncio.CancelledError):
            await call.read()
        assert call.cancelled()
        assert not call.cancel()
        assert await call.code() is grpc.StatusCode.CANCELLED

    run(body, Submit=wait)


def test_a_deadline_ends_the_call_on_both_sides(run: Any) -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def wait(_request: Any, _context: Any) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def body(world: World) -> None:
        seconds = 0.02
        while not began.is_set():  # a deadline may pass before the server has heard of the call
            seconds *= 2
            call = world.stub.Collect(pb.CollectRequest(), timeout=seconds)
            assert (await ended(call))[0] is grpc.StatusCode.DEADLINE_EXCEEDED
        await cancelled.wait()

    run(body, Collect=wait)


def test_a_writer_waits_for_a_reader_who_is_slow() -> None:
    """Over memory alone: how much gRPC takes before a writer waits is up to the system's sockets."""
    go_on, written = asyncio.Event(), []

    async def slow(_requests: Any, context: Any) -> None:
        await go_on.wait()
        while await context.read() is not EOF:
            pass

    async def write(call: Any) -> None:
        for s in range(1, 101):
            await call.write(submission(s, bytes(10_000)))
            written.append(s)
        await call.done_writing()

    async def body() -> None:
        async with asyncio.timeout(LONG), over_memory(Servicer(Submit=slow)) as world:
            call = world.stub.Submit()
            writing = asyncio.create_task(write(call))
            for _ in range(1000):
                await asyncio.sleep(0)
            assert len(written) == ROOM // 10_000 + 1
            go_on.set()
            await writing
            assert await call.read() is EOF

    asyncio.run(body())


def test_a_server_that_stops_ends_its_calls_and_can_be_reached_no_more(run: Any) -> None:
    began = asyncio.Event()

    async def wait(_requests: Any, _context: Any) -> None:
        began.set()
        await asyncio.Event().wait()

    async def body(world: World) -> None:
        call = world.stub.Submit()
        await began.wait()
        await world.stop()
        assert (await ended(call))[0] in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        assert (await ended(world.stub.Submit()))[0] is grpc.StatusCode.UNAVAILABLE

    run(body, Submit=wait)


def test_an_error_of_a_method_is_unknown_to_its_client(run: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_requests: Any, _context: Any) -> None:
        raise RuntimeError("a bug")

    async def body(world: World) -> None:
        code, details = await ended(world.stub.Submit())
        assert code is grpc.StatusCode.UNKNOWN
        assert "a bug" in details

    run(body, Submit=fail)
    assert "a bug" in caplog.text


def test_a_channel_that_closes_ends_its_calls(run: Any) -> None:
    async def body(world: World) -> None:
        call = world.stub.Submit()
        await call.write(submission(1))
        await call.read()
        await world.channel.close()
        assert await call.code() is grpc.StatusCode.CANCELLED

    run(body, Submit=echo)


def test_an_address_is_given_once() -> None:
    async def body() -> None:
        network = MemoryNetwork()
        port = await network.listener().listen("here:0")
        with pytest.raises(InputError, match=f"cannot listen on here:{port}"):
            await network.listener().listen(f"here:{port}")

    asyncio.run(body())
