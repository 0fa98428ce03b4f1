"""The broker as a process of its own, with its journal and its admin endpoint."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, Any

import grpc
import httpx
import psutil
import pytest
import tracebacks
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from loopback_broker import refusal
from waiting import PATIENCE, until

from edgefw.delays.units import parse_duration
from edgefw.local.ports import loopback_places
from edgefw.scenario.load import dump, validate
from edgefw.services.config import Place
from edgefw.transport.broker_client import BrokerClient
from edgefw.transport.channel import GRPC
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1 import broker_service_pb2_grpc as stubs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

SERVICE = "edgefw.v1.BrokerService"


@dataclass
class Process:
    """A running broker: its process, its ports, its scenario's digest, its log."""

    process: subprocess.Popen[bytes]
    port: int
    metrics_port: int
    run_id: str
    log: Path
    admin: int

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[grpc.aio.Channel]:
        async with GRPC.open_channel(f"127.0.0.1:{self.port}") as channel:
            request = health_pb2.HealthCheckRequest(service=SERVICE)
            stub = health_pb2_grpc.HealthStub(channel)
            answer = await stub.Check(request, timeout=PATIENCE, wait_for_ready=True)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
            yield channel

    def submission(self, agent: int, s: int, payload: bytes) -> pb.SubmitRequest:
        return pb.SubmitRequest(agent=agent, round=s, run_id=self.run_id, payload=payload, norm=1.0)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Wait until it serves."""
        async with self.channel():
            yield

    @asynccontextmanager
    async def client(self) -> AsyncIterator[BrokerClient]:
        """Talk to it as agent 0 does."""
        client = BrokerClient(f"127.0.0.1:{self.port}", 0, self.run_id)
        try:
            yield client
        finally:
            await client.close()

    def get(self, path: str) -> str:
        address = f"http://127.0.0.1:{self.metrics_port}{path}"
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            text: str = answer.read().decode()
            return text

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the admin endpoint; return its answer."""
        url = f"http://127.0.0.1:{self.admin}{path}"
        with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as http:
            answer = http.request(method, url, json=body, timeout=PATIENCE)
            assert answer.is_success, answer.text
            return answer.json() if answer.content else None

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)


async def submit(stub: stubs.BrokerServiceStub, *requests: pb.SubmitRequest) -> None:
    """Submit one after the other, each when the one before has been answered."""
    stream = stub.Submit(timeout=60.0)
    for request in requests:
        await stream.write(request)
        assert (await stream.read()).round == request.round
    await stream.done_writing()


@contextmanager
def started(folder: Path, document: dict[str, Any], **ports: int) -> Iterator[Process]:
    plan = validate(document, source="test")
    path, log = folder / "scenario.yaml", folder / "broker.log"
    path.write_text(dump(plan), encoding="utf-8")
    with loopback_places(0) as places:
        kept = places.broker
        place = Place(kept.host, ports.get("port", kept.port), ports.get("metrics_port", kept.metrics_port))
        words = (
            *("--scenario", str(path), "--journal", str(folder / "journal.sqlite")),
            *("--listen", place.address, "--metrics-port", str(place.metrics_port)),
            *("--admin", f"127.0.0.1:{places.admin}"),
        )
        with log.open("ab") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "edgefw", "broker", *words],
                stderr=file,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        try:
            yield Process(process, place.port, place.metrics_port, plan.digest, log, places.admin)
        finally:
            process.kill()
            process.wait(timeout=PATIENCE)


def test_it_serves_health_reflection_and_metrics_and_ends_when_told(tmp_path: Path) -> None:
    async def names(channel: grpc.aio.Channel) -> set[str]:
        question = reflection_pb2.ServerReflectionRequest(list_services="")
        call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([question]))
        async for answer in call:
            return {service.name for service in answer.list_services_response.service}
        return set()

    async def talk(broker: Process) -> None:
        async with asyncio.timeout(PATIENCE), broker.channel() as channel:
            assert {SERVICE, "grpc.health.v1.Health"} <= await names(channel)
            stub = stubs.BrokerServiceStub(channel)
            await submit(stub, broker.submission(0, 1, b"x"))
            stream = stub.Subscribe()
            asked = pb.Subscription(agent=0, run_id=broker.run_id)
            await stream.write(pb.SubscribeRequest(subscription=asked))
            await stream.read()
            assert (await stream.read()).delivery.payload == b"x"
            assert await asyncio.to_thread(broker.get, "/healthz") == "ok\n"
            assert 'edgefw_broker_accepted_total{agent="0"} 1.0' in await asyncio.to_thread(
                broker.get, "/metrics"
            )
            assert await asyncio.to_thread(broker.end) == 0  # with a subscription under way
            assert (await refusal(stream.read())).code() == grpc.StatusCode.UNAVAILABLE

    with started(tmp_path, {"network": {"agents": 3}}) as broker:
        asyncio.run(talk(broker))
        said = broker.log.read_text()
        assert "holding feedback of 3 agents" in said
        assert "stopping: SIGTERM" in said
        assert not tracebacks.of_the_package(said)


def test_agents_that_vanish_in_the_middle_of_deliveries_do_no_harm(tmp_path: Path) -> None:
    async def talk(broker: Process) -> None:
        for attempt in range(3):
            async with asyncio.timeout(PATIENCE), broker.channel() as channel:
                stub = stubs.BrokerServiceStub(channel)
                if not attempt:
                    await submit(stub, *(broker.submission(0, s, bytes(200_000)) for s in range(1, 41)))
                stream = stub.Subscribe()
                asked = pb.Subscription(agent=0, run_id=broker.run_id)
                await stream.write(pb.SubscribeRequest(subscription=asked))
                await stream.read()
                assert [(await stream.read()).delivery.round for _ in range(5)] == [1, 2, 3, 4, 5]
                # 35 are on their way, or wait for the stream to take them: the channel closes now

    with started(tmp_path, {"network": {"agents": 1}}) as broker:
        asyncio.run(talk(broker))
        assert broker.end() == 0
        assert not tracebacks.of_the_package(broker.log.read_text())


@pytest.mark.alone  # what is on its way takes memory, too: how much depends on what else runs
def test_501_outstanding_rounds_of_30_agents_fit_into_300_megabytes(tmp_path: Path) -> None:
    document = {
        "network": {"agents": 30},
        "clock": "rounds",
        "delays": [{"type": "rounds", "rounds": 502}],
    }

    async def agent(broker: Process, stub: stubs.BrokerServiceStub, i: int) -> None:
        """Submit all rounds without waiting for an answer in between."""
        stream = stub.Submit()
        for s in range(1, 502):
            await stream.write(broker.submission(i, s, os.urandom(9216)))
        await stream.done_writing()
        assert {(await stream.read()).round for _ in range(501)} == set(range(1, 502))

    async def fill(broker: Process) -> int:
        async with asyncio.timeout(120), broker.channel() as channel:
            stub = stubs.BrokerServiceStub(channel)
            await asyncio.gather(*(agent(broker, stub, i) for i in range(30)))
            metrics = await asyncio.to_thread(broker.get, "/metrics")
            for i in range(30):
                assert f'edgefw_broker_queue_depth{{agent="{i}",state="pending"}} 501.0' in metrics
        resident: int = psutil.Process(broker.process.pid).memory_info().rss
        return resident

    with started(tmp_path, document) as broker:
        resident = asyncio.run(fill(broker))
        assert 30 * 501 * 9216 < resident < 300e6
        assert broker.end() == 0


@pytest.mark.parametrize("taken", ["port", "metrics_port"])
def test_a_taken_port_is_a_clear_error(tmp_path: Path, taken: str) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with started(tmp_path, {}, **{taken: port}) as broker:
            assert broker.process.wait(timeout=PATIENCE) == 2
            assert f"cannot listen on 127.0.0.1:{port}: the port is taken" in broker.log.read_text()


def test_a_plan_that_the_clock_cannot_follow_is_a_clear_error(tmp_path: Path) -> None:
    adversary = {"type": "adversary", "strategy": "burst", "period": 5}  # of how long a round?
    with started(tmp_path, {"pace": "asap", "delays": [adversary]}) as broker:
        assert broker.process.wait(timeout=PATIENCE) == 2
        (line,) = broker.log.read_text().splitlines()
        assert "delays.0.period is 5 rounds, and rounds have no fixed length" in line


def test_a_killed_broker_starts_again_with_what_it_held_and_its_faults(tmp_path: Path) -> None:
    """Rounds 1 and 2 are sent, 1 is acknowledged; 3 is late by an hour; 4 is held by a blackout."""
    document = {"network": {"agents": 2}, "delays": [{"type": "latency", "trace": ["0s", "0s", "1h"]}]}
    posted = {"name": "dark", "type": "blackout", "duration": "60s"}

    async def first(broker: Process) -> tuple[float, float]:
        async with asyncio.timeout(PATIENCE), broker.serving(), broker.client() as agent:
            deliveries = agent.deliveries()
            for s in (1, 2, 3):
                await agent.submit(s, b"feedback %d" % s, 1.0)
            assert [(await anext(deliveries)).round for _ in range(2)] == [1, 2]  # 2 is not acknowledged
            begun = time()
            await asyncio.to_thread(broker.ask, "POST", "/faults", posted)
            ends = (begun + 60, time() + 60)
            await asyncio.to_thread(until, lambda: broker.ask("GET", "/links/0")["delivered"] == 1)
            await agent.submit(4, b"feedback 4", 1.0)  # on disk now, as is what was noted before
            return ends

    async def second(broker: Process, ends: tuple[float, float]) -> None:
        async with asyncio.timeout(PATIENCE), broker.serving(), broker.client() as agent:
            asked = time()
            link = await asyncio.to_thread(broker.ask, "GET", "/links/0")
            assert [each["name"] for each in link["faults"]] == ["delays-0", "dark"]
            assert [link[each] for each in ("accepted", "delivered", "pending", "due")] == [4, 1, 2, 1]
            left = parse_duration(link["next_due"])  # it counts from when it was posted
            assert ends[0] - time() - 0.001 <= left <= ends[1] - asked + 0.001
            deliveries = agent.deliveries()
            assert (await anext(deliveries)).payload == b"feedback 2"
            await asyncio.to_thread(broker.ask, "DELETE", "/faults/dark")
            assert (await anext(deliveries)).payload == b"feedback 4"
            again = await agent.submit(3, b"feedback 3", 1.0)
            assert again.requested_delay == pytest.approx(3600)
            assert (await asyncio.to_thread(broker.ask, "GET", "/links/0"))["pending"] == 1

    with started(tmp_path, document) as broker:
        ends = asyncio.run(first(broker))
        assert broker.end(signal.SIGKILL) == -signal.SIGKILL
    with started(tmp_path, document) as broker:
        asyncio.run(second(broker, ends))
        assert broker.end() == 0
        assert "restored 3 pending feedbacks (1 of them delivered before)" in broker.log.read_text()
