"""Agents, broker and their streams are real; they share a process, so that a test can look inside.

The observer is a recorder: it keeps what agents report and answers at once.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
from loopback_broker import broker
from waiting import PATIENCE

from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, observe
from edgefw.problem.dataset import Dataset
from edgefw.problem.delay import ArrivalBook
from edgefw.scenario.load import validate
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.agent.service import AgentService
from edgefw.services.broker import process
from edgefw.services.broker.hold import RoundsHold, Taken, make_hold
from edgefw.services.broker.limits import limits_of
from edgefw.services.broker.plan import scenario_plan
from edgefw.services.config import AgentConfig, Place
from edgefw.services.network.ports import loopback_places
from edgefw.simulator import arrived
from edgefw.transport.codec import decode_array
from edgefw.transport.server import GrpcServer
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1 import observer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from edgefw.problem.feasible.base import Real
    from edgefw.services.broker.hold import Hold

ROUNDS, N = 6, 4
Plays = dict[tuple[int, int], "Real"]


class Recorder(observer_service_pb2_grpc.ObserverServiceServicer):
    """Keeps every play by (round, agent)."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.plays: Plays = {}
        self.arrivals: dict[tuple[int, int], list[int]] = {}
        self._shape = shape

    async def Report(self, requests: AsyncIterator[Any], _context: Any) -> AsyncIterator[Any]:  # noqa: N802
        agent = (await anext(requests)).reporter.agent
        async for request in requests:
            play = request.play
            self.plays[play.round, agent] = decode_array(play.point, self._shape)
            self.arrivals[play.round, agent] = list(play.arrivals)
            yield pb.ReportResponse(round=play.round, global_loss=0.0, cumulative_loss=0.0)


class Altering(RoundsHold):
    """A broker that flips the sign bits of the residuals it carries for agent 2 in round 2.

    They stand at the end of a payload, four bytes each, the sign in the last.
    """

    def submit(self, agent: int, round_: int, payload: bytes, norm: float, now: float) -> Taken:
        if (agent, round_) == (2, 2):
            changed = bytearray(payload)
            for place in range(len(changed) - 1, len(changed) - 1 - 4 * 18, -4):
                changed[place] ^= 0x80
            payload = bytes(changed)
        return super().submit(agent, round_, payload, norm, now)


def make_setup(**fields: Any) -> Setup:
    document = {
        "network": {"agents": N, "topology": "cycle"},
        "algorithm": {"horizon": 9, "stop_after": ROUNDS, "rate": 5.0},  # one feedback decides
        "clock": "rounds",
        "pace": "asap",
        "delays": [{"agents": [1], "type": "rounds", "rounds": 3}],
        **fields,
    }
    random = np.random.default_rng(0)
    data = Dataset("tiny", random.integers(0, 255, (80, 6), np.uint8), random.integers(0, 3, 80), 3, 1 / 255)
    return resolve(validate(document, source="test"), data)


def hold_of(setup: Setup, kind: type[RoundsHold] | None = None) -> Hold:
    plan, limits = scenario_plan(setup.scenario), limits_of(setup.scenario)
    return make_hold(plan, limits) if kind is None else kind(plan, limits)


def agent_service(setup: Setup, i: int, places: Sequence[Place], others: tuple[str, str]) -> AgentService:
    shard = setup.streams[i].shard
    data = Dataset("shard", setup.dataset.features[shard], setup.dataset.labels[shard], 3, 1 / 255)
    config = AgentConfig(
        spec=setup.agent_spec(i),
        digest=setup.scenario.digest,
        rounds=setup.rounds,
        clock=setup.scenario.clock,
        pace=0.0,
        peer_timeout=30.0,
        loss=setup.scenario.problem.loss,
        batch=setup.scenario.problem.batch,
        in_order=False,
        classes=3,
        scale=1 / 255,
        peers={j: places[j].address for j in setup.graph.neighbours(i)},
        broker=others[0],
    )
    return AgentService(config, data, places[i], others[1])


async def emulate(setup: Setup, hold: Hold) -> Recorder:
    recorder, server, stop = Recorder(setup.feasible.shape), GrpcServer(), asyncio.Event()
    add = partial(observer_service_pb2_grpc.add_ObserverServiceServicer_to_server, recorder)
    observer = await server.start("127.0.0.1:0", [("edgefw.v1.ObserverService", add)])
    with loopback_places(N) as places:
        async with asyncio.timeout(PATIENCE), broker(setup.scenario, hold) as client:
            others = (client.address, f"127.0.0.1:{observer}")
            services = [agent_service(setup, i, places.agents, others) for i in range(N)]
            await asyncio.gather(*(service.serve(stop) for service in services))
    await server.stop()
    return recorder


def in_memory(setup: Setup) -> Plays:
    """Return the plays of the agents of the core, exchanging frames in memory."""
    agents, book = setup.agents(), ArrivalBook(setup.delays)
    feedback: dict[tuple[int, int], Feedback] = {}
    plays: Plays = {}
    for t in range(1, setup.rounds + 1):
        came = {i: [feedback[i, s] for s in rounds] for i, rounds in arrived(book, t - 1).items()}
        for i, play in enumerate(sweep(agents, t, came)):
            _, feedback[i, t] = observe(setup.loss, play, *setup.batch(i, t))
            plays[t, i] = play.point
    return plays


def test_services_and_memory_play_the_same_bits() -> None:
    setup = make_setup()
    recorder = asyncio.run(emulate(setup, hold_of(setup)))
    expected = in_memory(setup)
    assert recorder.plays.keys() == expected.keys()
    assert all(recorder.plays[key].tobytes() == expected[key].tobytes() for key in expected)


def test_feedback_really_comes_through_the_broker() -> None:
    setup = make_setup()
    honest = in_memory(setup)
    altered = asyncio.run(emulate(setup, hold_of(setup, Altering))).plays
    same = {key for key in honest if honest[key].tobytes() == altered[key].tobytes()}
    assert {key for key in honest if key[0] <= 2} <= same  # what came before is as it was
    assert (3, 2) not in same  # the play after the altered feedback is not


def test_a_dropped_link_stays_empty() -> None:
    setup = make_setup(delays=[{"agents": [1], "type": "drop"}])
    recorder = asyncio.run(emulate(setup, hold_of(setup)))
    assert all(recorder.arrivals[t, 1] == [] for t in range(1, ROUNDS + 1))
    assert all(recorder.arrivals[t, 0] == [t - 1] for t in range(2, ROUNDS + 1))


def buf_curl(*words: str) -> str:
    buf = Path(sys.executable).with_name("buf")
    done = subprocess.run(
        [buf, "curl", "--http2-prior-knowledge", "--protocol", "grpc", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_client_not_written_here_can_list_services_and_ask_for_health() -> None:
    async def body() -> tuple[str, str]:
        with loopback_places(0) as places:
            return await ask(places.broker)

    async def ask(place: Place) -> tuple[str, str]:
        setup, stop = make_setup(), asyncio.Event()
        options = process.BrokerOptions(place, journal=None)
        serving = asyncio.create_task(process.serve(setup.scenario, "digest/run", options, stop))
        async with asyncio.timeout(PATIENCE), grpc.aio.insecure_channel(place.address) as channel:
            await channel.channel_ready()
            url = f"http://{place.address}"
            services = await asyncio.to_thread(buf_curl, "--list-services", url)
            health = await asyncio.to_thread(buf_curl, "-d", "{}", f"{url}/grpc.health.v1.Health/Check")
        stop.set()
        await serving
        return services, health

    services, health = asyncio.run(body())
    assert "edgefw.v1.BrokerService" in services
    assert "grpc.health.v1.Health" in services
    assert "SERVING" in health
