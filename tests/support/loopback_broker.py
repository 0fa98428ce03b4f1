"""A broker on loopback with real gRPC, and a client that is not the agents' own."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from prometheus_client import CollectorRegistry
from waiting import PATIENCE

from edgefw.delays import edits
from edgefw.delays.body import read_fault
from edgefw.scenario.load import validate
from edgefw.services.broker.journal import open_journal
from edgefw.services.broker.restore import make_or_restore
from edgefw.services.broker.service import Broker
from edgefw.telemetry.metrics import BrokerMetrics
from edgefw.transport.channel import GRPC
from edgefw.transport.server import RpcServer
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1 import broker_service_pb2_grpc as stubs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Sequence
    from pathlib import Path

    from edgefw.delays.entry import Moment
    from edgefw.delays.hold import Hold
    from edgefw.delays.plan import Plan
    from edgefw.scenario.model import Scenario
    from edgefw.services.broker.control import Control
    from edgefw.services.broker.journal import Journal, Tuning
    from edgefw.transport.seam import Transport


def scenario(
    clock: str = "wall", *delays: dict[str, Any], agents: int = 3, rounds: int = 20, **fields: Any
) -> Scenario:
    document = {
        "network": {"agents": agents},
        "algorithm": {"horizon": rounds},
        "clock": clock,
        "delays": list(delays),
    }
    return validate(document | fields, source="test")


@dataclass
class Client:
    """A broker on loopback, and a stub that talks to it."""

    stub: Any
    run_id: str
    registry: CollectorRegistry
    stop: asyncio.Event
    control: Control
    hold: Hold
    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def request(
        self, s: int, payload: bytes | None = None, agent: int = 0, **fields: Any
    ) -> pb.SubmitRequest:
        """Return a submission of a payload, or of one that says what it is; `fields` go in as they are."""
        request: dict[str, Any] = {
            "agent": agent,
            "round": s,
            "run_id": self.run_id,
            "payload": b"feedback %d of %d" % (s, agent) if payload is None else payload,
            "norm": 1.0,
        }
        return pb.SubmitRequest(**(request | fields))

    async def submit(
        self, s: int, payload: bytes | None = None, agent: int = 0, **fields: Any
    ) -> pb.SubmitResponse:
        """Submit one feedback on a stream of its own, to its end."""
        stream = self.submissions()
        answer = await stream.submit(self.request(s, payload, agent, **fields))
        await stream.call.done_writing()
        assert await stream.call.read() is grpc.aio.EOF
        return answer

    def submissions(self) -> Submissions:
        """Open a stream for many of them."""
        return Submissions(self.stub.Submit(timeout=PATIENCE))

    async def collect(self, t: int, agent: int = 0, **fields: Any) -> list[int]:
        return [delivery.round for delivery in await self.collected(t, agent, **fields)]

    async def collected(self, t: int, agent: int = 0, **fields: Any) -> list[pb.Delivery]:
        answers = await self._collect(t, agent, **fields)
        return [answer.delivery for answer in answers if answer.HasField("delivery")]

    async def given_up(self, t: int, awaited: Sequence[int], agent: int = 0) -> list[int]:
        """Collect a round; return what of the rounds that are awaited will never come."""
        answers = await self._collect(t, agent, awaited=awaited)
        return [s for answer in answers for s in answer.dropped.rounds]

    async def _collect(self, t: int, agent: int, **fields: Any) -> list[pb.CollectResponse]:
        request: dict[str, Any] = {"agent": agent, "round": t, "run_id": self.run_id}
        call = self.stub.Collect(pb.CollectRequest(**(request | fields)), timeout=PATIENCE)
        return [answer async for answer in call]

    def subscription(self, agent: int = 0, awaited: Sequence[int] = ()) -> pb.SubscribeRequest:
        """Return the first message of a subscription."""
        asked = pb.Subscription(agent=agent, run_id=self.run_id, awaited=awaited)
        return pb.SubscribeRequest(subscription=asked)

    async def subscribe(self, agent: int = 0, awaited: Sequence[int] = ()) -> Subscription:
        call = self.stub.Subscribe(timeout=PATIENCE)
        await call.write(self.subscription(agent, awaited))
        answer = await call.read()
        assert answer.WhichOneof("content") == "subscribed"
        return Subscription(call)

    async def post(self, body: dict[str, Any], agent: int | None = None, name: str | None = None) -> Plan:
        """Add a fault to a link, or to all of them (None), as the admin endpoint does."""

        def edit(plan: Plan, moment: Moment) -> Plan:
            return edits.add(plan, moment, agent, read_fault(body, plan.rules).fault, name)

        return await self.control.apply("add", edit)

    def sample(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"edgefw_broker_{name}", labels)


@dataclass
class Submissions:
    call: Any

    async def submit(self, request: pb.SubmitRequest) -> pb.SubmitResponse:
        await self.send(request)
        return await self.answer()

    async def send(self, *requests: pb.SubmitRequest) -> None:
        for request in requests:
            await self.call.write(request)

    async def answer(self) -> pb.SubmitResponse:
        answer: pb.SubmitResponse = await self.call.read()
        assert answer is not grpc.aio.EOF
        return answer


@dataclass
class Subscription:
    call: Any

    async def next(self) -> pb.Delivery:
        answer = await self.call.read()
        assert answer.WhichOneof("content") == "delivery"
        delivery: pb.Delivery = answer.delivery
        return delivery

    async def dropped(self) -> list[int]:
        answer = await self.call.read()
        assert answer.WhichOneof("content") == "dropped"
        return list(answer.dropped.rounds)

    async def acknowledge(self, *rounds: int) -> None:
        done = pb.Acknowledgement(rounds=rounds)
        await self.call.write(pb.SubscribeRequest(acknowledgement=done))


@asynccontextmanager
async def broker(
    plan: Scenario,
    hold: Hold | None = None,
    *,
    folder: Path | None = None,
    tuning: Tuning | None = None,
    journal: Journal | None = None,
    port: int = 0,
    run: str = "",
    transport: Transport = GRPC,
) -> AsyncIterator[Client]:
    """Run a broker that keeps what it holds in memory, in a folder, or in a journal of the test's own."""
    registry, server, stop = CollectorRegistry(), RpcServer(transport), asyncio.Event()
    metrics, run_id = BrokerMetrics(registry), f"{plan.digest}/{run}" if run else plan.digest
    kept = journal or open_journal(folder and folder / "journal.sqlite", run_id, metrics, tuning)
    hold = hold or make_or_restore(plan, kept)
    servicer = Broker(run_id, hold, kept, metrics, registry)
    add = partial(stubs.add_BrokerServiceServicer_to_server, servicer)
    port = await server.start(f"127.0.0.1:{port}", add)
    running = asyncio.create_task(servicer.run(stop))
    await asyncio.sleep(0)
    try:
        async with transport.open_channel(f"127.0.0.1:{port}", "broker") as channel:
            stub = stubs.BrokerServiceStub(channel)
            yield Client(stub, run_id, registry, stop, servicer.control, hold, port)
    finally:
        stop.set()
        await asyncio.wait({running})
        await server.stop()
        await kept.close()
        running.result()


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await test

    asyncio.run(bounded())


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value
