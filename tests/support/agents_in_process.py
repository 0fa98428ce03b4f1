"""Agents, broker and their streams are real; they share a process, so that a test can look inside.

The observer is a recorder: it keeps what agents report and answers at once.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
from loopback_broker import broker
from waiting import PATIENCE

from edgefw.delays.hold import RoundsHold, WallHold, make_hold
from edgefw.local.ports import loopback_places
from edgefw.problem.dataset import Dataset
from edgefw.scenario.load import validate
from edgefw.scenario.plan import scenario_plan
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.agent.service import AgentOptions, AgentService
from edgefw.services.broker.limits import limits_of
from edgefw.services.config import AgentConfig, Place
from edgefw.transport.codec import decode_array
from edgefw.transport.server import RpcServer
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1 import observer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from loopback_broker import Client

    from edgefw.delays.hold import Hold
    from edgefw.problem.feasible.base import Real

ROUNDS, N = 6, 4
Plays = dict[tuple[int, int], "Real"]


class Recorder(observer_service_pb2_grpc.ObserverServiceServicer):
    """Keeps every report by (round, agent)."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.plays: Plays = {}
        self.arrivals: dict[tuple[int, int], list[int]] = {}
        self.outstanding: dict[tuple[int, int], int] = {}
        self.over = False  # whether it has gone on to another run
        self._shape = shape

    async def Report(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:  # noqa: N802
        if self.over:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "this is another run")
        agent = (await anext(requests)).reporter.agent
        async for request in requests:
            play = request.play
            self.plays[play.round, agent] = decode_array(play.point, self._shape)
            self.arrivals[play.round, agent] = list(play.arrivals)
            self.outstanding[play.round, agent] = play.outstanding
            yield pb.ReportResponse(round=play.round, global_loss=0.0, cumulative_loss=0.0)


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


def hold_of(setup: Setup, kind: type[RoundsHold | WallHold] | None = None) -> Hold:
    plan, limits = scenario_plan(setup.scenario), limits_of(setup.scenario)
    return make_hold(plan, limits) if kind is None else kind(plan, limits)


def agent_service(
    setup: Setup, i: int, places: Sequence[Place], others: tuple[str, str], *, stay: bool = False
) -> AgentService:
    shard = setup.streams[i].shard
    data = Dataset("shard", setup.dataset.features[shard], setup.dataset.labels[shard], 3, 1 / 255)
    config = AgentConfig(
        spec=setup.agent_spec(i),
        run_id=setup.scenario.digest,
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
    return AgentService(config, data, AgentOptions(i, others[1], places[i], places[i].address, stay=stay))


@dataclass
class Agents:
    """All agents of a setup, at work in this event loop."""

    services: list[AgentService]
    tasks: list[asyncio.Task[None]]
    recorder: Recorder
    broker: Client
    stop: asyncio.Event

    async def ended(self) -> None:
        """Wait for the end of all agents; raise what one of them failed with."""
        await asyncio.gather(*self.tasks)

    def sample(self, agent: int, name: str, **labels: str) -> float | None:
        """Return what an agent exports."""
        registry = self.services[agent]._registry
        return registry.get_sample_value(f"edgefw_agent_{name}", {"agent": str(agent), **labels})


@asynccontextmanager
async def agents(
    setup: Setup, hold: Hold | None = None, *, stay: bool = False, journal: Any = None
) -> AsyncIterator[Agents]:
    """Run a broker, a recorder and every agent while the block runs."""
    recorder, server, stop = Recorder(setup.feasible.shape), RpcServer(), asyncio.Event()
    add = partial(observer_service_pb2_grpc.add_ObserverServiceServicer_to_server, recorder)
    observer = await server.start("127.0.0.1:0", add)
    with loopback_places(setup.n) as places:
        async with asyncio.timeout(PATIENCE), broker(setup.scenario, hold, journal=journal) as client:
            others = (client.address, f"127.0.0.1:{observer}")
            made = [agent_service(setup, i, places.agents, others, stay=stay) for i in range(setup.n)]
            tasks = [asyncio.create_task(service.serve(stop)) for service in made]
            try:
                yield Agents(made, tasks, recorder, client, stop)
            finally:
                stop.set()
                await asyncio.gather(*tasks, return_exceptions=True)
    await server.stop()


async def emulate(setup: Setup, hold: Hold | None = None) -> Recorder:
    """Run a setup to its end; return what was reported."""
    async with agents(setup, hold) as running:
        await running.ended()
        return running.recorder
