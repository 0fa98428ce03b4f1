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

from edgefw.scenario.load import validate
from edgefw.services.broker.service import SERVICE, Broker, make_hold
from edgefw.telemetry.metrics import BrokerMetrics
from edgefw.transport.server import CHANNEL_OPTIONS, GrpcServer
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1 import broker_service_pb2_grpc as stubs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from edgefw.scenario.model import Scenario
    from edgefw.services.broker.hold import Hold

PATIENCE = 20.0


def scenario(clock: str = "wall", *delays: dict[str, Any], agents: int = 3, rounds: int = 20) -> Scenario:
    document = {
        "network": {"agents": agents},
        "algorithm": {"horizon": rounds},
        "clock": clock,
        "delays": list(delays),
    }
    return validate(document, source="test")


@dataclass
class Client:
    """A broker on loopback, and a stub that talks to it."""

    stub: Any
    digest: str
    registry: CollectorRegistry
    stop: asyncio.Event

    async def submit(
        self, s: int, payload: bytes | None = None, agent: int = 0, **fields: Any
    ) -> pb.SubmitResponse:
        """Submit a payload, or one that says what it is; `fields` go into the request as they are."""
        request: dict[str, Any] = {
            "agent": agent,
            "round": s,
            "scenario_digest": self.digest,
            "payload": b"feedback %d of %d" % (s, agent) if payload is None else payload,
            "norm": 1.0,
        }
        message = pb.SubmitRequest(**(request | fields))
        answer: pb.SubmitResponse = await self.stub.Submit(message, timeout=PATIENCE)
        return answer

    async def collect(self, t: int, agent: int = 0, **fields: Any) -> list[int]:
        request: dict[str, Any] = {"agent": agent, "round": t, "scenario_digest": self.digest}
        call = self.stub.Collect(pb.CollectRequest(**(request | fields)), timeout=PATIENCE)
        return [answer.delivery.round async for answer in call]

    async def subscribe(self, agent: int = 0) -> Subscription:
        call = self.stub.Subscribe(timeout=PATIENCE)
        asked = pb.Subscription(agent=agent, scenario_digest=self.digest)
        await call.write(pb.SubscribeRequest(subscription=asked))
        answer = await call.read()
        assert answer.WhichOneof("content") == "subscribed"
        return Subscription(call)

    def sample(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"edgefw_broker_{name}", labels)


@dataclass
class Subscription:
    call: Any

    async def next(self) -> pb.Delivery:
        answer = await self.call.read()
        assert answer.WhichOneof("content") == "delivery"
        delivery: pb.Delivery = answer.delivery
        return delivery

    async def acknowledge(self, *rounds: int) -> None:
        done = pb.Acknowledgement(rounds=rounds)
        await self.call.write(pb.SubscribeRequest(acknowledgement=done))


@asynccontextmanager
async def broker(plan: Scenario, hold: Hold | None = None) -> AsyncIterator[Client]:
    registry, server, stop = CollectorRegistry(), GrpcServer(), asyncio.Event()
    servicer = Broker(plan.digest, hold or make_hold(plan), BrokerMetrics(registry))
    add = partial(stubs.add_BrokerServiceServicer_to_server, servicer)
    port = await server.start("127.0.0.1:0", [(SERVICE, add)])
    running = asyncio.create_task(servicer.run(stop))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=CHANNEL_OPTIONS) as channel:
        yield Client(stubs.BrokerServiceStub(channel), plan.digest, registry, stop)
        stop.set()
        await running
        await server.stop()


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await test

    asyncio.run(bounded())


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


async def eventually(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a metric tells nobody that it has changed; run() bounds the wait
        await asyncio.sleep(0.005)
