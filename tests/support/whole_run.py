"""A whole run of the real services, with changes of the plan on the way: agents and observer in this process,
the broker in one of its own, so that it can be killed.
"""

from __future__ import annotations

import asyncio
import json
import signal
import urllib.request
from typing import TYPE_CHECKING, Any

import playback

from edgefw.benchmarks.broker_load import BrokerProcess
from edgefw.local.ports import loopback_places
from edgefw.problem.dataset import Dataset
from edgefw.scenario.setup import resolve
from edgefw.services.agent.service import AgentOptions, AgentService
from edgefw.services.observer.briefing import agent_config, shard

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from edgefw.local.ports import Places
    from edgefw.records import RunFolder
    from edgefw.scenario.model import Scenario
    from edgefw.scenario.setup import Setup

Step = tuple[int, str, str, object]
"""After which round of agent 0: a verb, a path and a body for the admin endpoint; KILL for another start."""

KILL = "KILL"
LIMIT = 200.0  # seconds, on however busy a machine


def run(path: Path, scenario: Scenario, steps: Sequence[Step]) -> RunFolder:
    """Run a scenario, which takes the steps in their order, to its summary."""
    setup = resolve(scenario)
    folder = playback.new_folder(path / "run", scenario)

    async def bounded() -> None:
        async with asyncio.timeout(LIMIT):
            await _run(path, setup, folder, steps)

    asyncio.run(bounded())
    return folder


async def _run(path: Path, setup: Setup, folder: RunFolder, steps: Sequence[Step]) -> None:
    with loopback_places(setup.n) as places:
        async with playback.observing(folder) as observer:
            broker = BrokerProcess(setup.scenario, path, places, observer=observer.place.address)
            await broker.start()
            try:
                async with asyncio.TaskGroup() as group:
                    for i in range(setup.n):
                        service = _agent(setup, i, places, observer.place.address)
                        group.create_task(service.serve(asyncio.Event()))
                    await _take(broker, steps)
                await observer.ended()
            finally:
                await broker.end()


def _agent(setup: Setup, i: int, places: Places, observer: str) -> AgentService:
    peers = {j: places.agents[j].address for j in setup.graph.neighbours(i)}
    config = agent_config(setup, i, playback.run_id(setup), peers, places.broker.address)
    index, data = shard(setup, i), setup.dataset
    own = Dataset(f"agent-{i}", data.features[index], data.labels[index], data.classes, data.scale)
    place = places.agents[i]
    return AgentService(config, own, AgentOptions(i, observer, place, place.address))


async def _take(broker: BrokerProcess, steps: Sequence[Step]) -> None:
    for after, verb, path, body in steps:
        while (await _call(broker, "GET", "/links/0", None))["accepted"] < after:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
        if verb == KILL:
            await broker.end(signal.SIGKILL)
            await broker.start()
        else:
            await _call(broker, verb, path, body)


async def _call(broker: BrokerProcess, verb: str, path: str, body: object) -> Any:
    host, port = broker.admin
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{host}:{port}{path}", data, method=verb)
    request.add_header("Content-Type", "application/json")

    def ask() -> Any:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:  # noqa: S310 - likewise
            return json.loads(answer.read() or b"null")

    return await asyncio.to_thread(ask)
