"""The broker as a process of its own."""

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
from time import monotonic
from typing import TYPE_CHECKING, Any

import grpc
import psutil
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from loopback_broker import PATIENCE, refusal

from edgefw.scenario.load import dump, validate
from edgefw.services.broker.service import SERVICE
from edgefw.transport.server import CHANNEL_OPTIONS
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1 import broker_service_pb2_grpc as stubs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("machine")  # measures or fills the machine: one at a time

PROGRAM = (
    "import sys; from edgefw.services.broker.service import run; "
    "sys.exit(run(sys.argv[1], '127.0.0.1', int(sys.argv[2]), int(sys.argv[3])))"
)


@dataclass
class Process:
    """A running broker: its process, its ports, its scenario's digest, its log."""

    process: subprocess.Popen[bytes]
    port: int
    metrics_port: int
    digest: str
    log: Path

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[grpc.aio.Channel]:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self.port}", options=CHANNEL_OPTIONS) as channel:
            request = health_pb2.HealthCheckRequest(service=SERVICE)
            stub = health_pb2_grpc.HealthStub(channel)
            answer = await stub.Check(request, timeout=PATIENCE, wait_for_ready=True)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
            yield channel

    def submission(self, agent: int, s: int, payload: bytes) -> pb.SubmitRequest:
        return pb.SubmitRequest(agent=agent, round=s, scenario_digest=self.digest, payload=payload, norm=1.0)

    def get(self, path: str) -> str:
        address = f"http://127.0.0.1:{self.metrics_port}{path}"
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            text: str = answer.read().decode()
            return text

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=10)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def started(folder: Path, document: dict[str, Any], **ports: int) -> Iterator[Process]:
    plan = validate(document, source="test")
    path, log = folder / "scenario.yaml", folder / "broker.log"
    path.write_text(dump(plan), encoding="utf-8")
    port, metrics_port = ports.get("port") or free_port(), ports.get("metrics_port") or free_port()
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(path), str(port), str(metrics_port)],
            stderr=file,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
    try:
        yield Process(process, port, metrics_port, plan.digest, log)
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
            await stub.Submit(broker.submission(0, 1, b"x"), timeout=PATIENCE)
            stream = stub.Subscribe()
            asked = pb.Subscription(agent=0, scenario_digest=broker.digest)
            await stream.write(pb.SubscribeRequest(subscription=asked))
            await stream.read()
            assert (await stream.read()).delivery.payload == b"x"
            assert await asyncio.to_thread(broker.get, "/healthz") == "ok\n"
            assert 'edgefw_broker_accepted_total{agent="0"} 1.0' in await asyncio.to_thread(
                broker.get, "/metrics"
            )
            begin = monotonic()
            code = await asyncio.to_thread(broker.end)  # with a subscription under way
            assert (code, monotonic() - begin < 10) == (0, True)
            assert (await refusal(stream.read())).code() == grpc.StatusCode.UNAVAILABLE

    with started(tmp_path, {"network": {"agents": 3}}) as broker:
        asyncio.run(talk(broker))
        said = broker.log.read_text()
        assert "holding feedback of 3 agents" in said
        assert "stopping: SIGTERM" in said
        assert "Traceback" not in said


def test_agents_that_vanish_in_the_middle_of_deliveries_do_no_harm(tmp_path: Path) -> None:
    async def talk(broker: Process) -> None:
        for attempt in range(3):
            async with asyncio.timeout(PATIENCE), broker.channel() as channel:
                stub = stubs.BrokerServiceStub(channel)
                if not attempt:
                    for s in range(1, 41):
                        await stub.Submit(broker.submission(0, s, bytes(200_000)), timeout=PATIENCE)
                stream = stub.Subscribe()
                asked = pb.Subscription(agent=0, scenario_digest=broker.digest)
                await stream.write(pb.SubscribeRequest(subscription=asked))
                await stream.read()
                assert [(await stream.read()).delivery.round for _ in range(5)] == [1, 2, 3, 4, 5]
                # 35 are on their way, or wait for the stream to take them: the channel closes now

    with started(tmp_path, {"network": {"agents": 1}}) as broker:
        asyncio.run(talk(broker))
        assert broker.end() == 0
        assert "Traceback" not in broker.log.read_text()


@pytest.mark.slow
def test_501_outstanding_rounds_of_30_agents_fit_into_300_megabytes(tmp_path: Path) -> None:
    document = {
        "network": {"agents": 30},
        "clock": "rounds",
        "delays": [{"type": "rounds", "rounds": 502}],
    }

    async def agent(broker: Process, stub: stubs.BrokerServiceStub, i: int) -> None:
        for s in range(1, 502):
            await stub.Submit(broker.submission(i, s, os.urandom(9216)), timeout=60.0)

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
    adversary = {"type": "adversary", "strategy": "until_end"}
    with started(tmp_path, {"delays": [adversary]}) as broker:
        assert broker.process.wait(timeout=PATIENCE) == 2
        (line,) = broker.log.read_text().splitlines()
        assert "an adversary counts in rounds" in line
