"""Agents that only pretend: they report plays that the core made in memory, over real streams."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
from prometheus_client.parser import text_string_to_metric_families
from waiting import PATIENCE

from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, Play, observe
from edgefw.delays.book import ArrivalBook
from edgefw.local.ports import loopback_places
from edgefw.records import RunFolder
from edgefw.scenario.load import dump
from edgefw.scenario.model import Scenario
from edgefw.services.observer import service as observer
from edgefw.simulator import arrived
from edgefw.transport.channel import GRPC
from edgefw.transport.codec import encode_array
from edgefw.transport.server import until_serving
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1 import observer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from edgefw.scenario.setup import Setup
    from edgefw.services.config import Place
    from edgefw.transport.seam import Transport

DEADLINE = PATIENCE


def scenario(**changes: Any) -> Scenario:
    """Return a small scenario that any process can resolve: the synthetic data are made from the seed."""
    document: dict[str, Any] = {
        "name": "playback",
        "seed": 3,
        "clock": "rounds",
        "pace": "asap",
        "network": {"agents": 4, "topology": "cycle"},
        "data": {"source": "synthetic", "samples": 300, "features": 20, "classes": 4},
        "algorithm": {"horizon": 12},
        "delays": [
            {"type": "rounds", "agents": [1], "rounds": 3, "jitter": 2},
            {"type": "rounds", "agents": [2], "rounds": 5},
        ],
    }
    return Scenario.model_validate(document | changes)


@dataclass(frozen=True)
class Played:
    """One agent's round, as the agent would know it; `arrivals` is F_{t-1}."""

    play: Play
    local_loss: float
    arrivals: tuple[int, ...]
    outstanding: int
    messages: int  # sent so far


def play_all(setup: Setup) -> list[list[Played]]:
    """Play a setup on the agents of the core; by round, then by agent."""
    agents, book = setup.agents(), ArrivalBook(setup.delays)
    pending: dict[tuple[int, int], Feedback] = {}
    each = [setup.agent_spec(i).exchanges * len(setup.graph.neighbours(i)) for i in range(setup.n)]
    rounds = []
    for t in range(1, setup.rounds + 1):
        came = arrived(book, t - 1)
        plays = sweep(agents, t, {i: [pending.pop((i, s)) for s in rounds_] for i, rounds_ in came.items()})
        played = []
        for i, play in enumerate(plays):
            local, pending[i, t] = observe(setup.loss, play, *setup.batch(i, t))
            outstanding = sum(agent == i for agent, _ in pending)
            played.append(Played(play, local, tuple(came.get(i, ())), outstanding, t * each[i]))
        rounds.append(played)
    return rounds


def play_report(played: Played, **changes: Any) -> Any:
    """Return the message of a play; it says that 100 bytes were sent in each round."""
    t = played.play.t
    fields: dict[str, Any] = {
        "round": t,
        "point": encode_array(played.play.point),
        "local_loss": played.local_loss,
        "arrivals": played.arrivals,
        "outstanding": played.outstanding,
        "messages": played.messages,
        "bytes": 100 * t,
    }
    return pb.PlayReport(**(fields | changes))


class Reporter:
    """An agent's stream to an observer, by hand."""

    def __init__(self, channel: Any, agent: int, run_id: str) -> None:
        self.call = observer_service_pb2_grpc.ObserverServiceStub(channel).Report()
        self._hello = pb.ReportRequest(reporter=pb.Reporter(agent=agent, run_id=run_id))

    async def open(self) -> Reporter:
        await self.call.write(self._hello)
        return self

    async def report(self, *messages: Any) -> None:
        for message in messages:
            await self.call.write(pb.ReportRequest(play=message))

    async def answers(self, count: int) -> list[Any]:
        async with asyncio.timeout(DEADLINE):
            return [await self.call.read() for _ in range(count)]

    async def refusal(self) -> tuple[grpc.StatusCode, str]:
        """Read until the stream is ended, and return how."""
        async with asyncio.timeout(DEADLINE):
            with suppress(grpc.aio.AioRpcError):
                while await self.call.read() is not grpc.aio.EOF:
                    pass
            return await self.call.code(), await self.call.details()


def run_id(setup: Setup, run: str = "run") -> str:
    """Return what agents call a run by; its folder's name is `run`."""
    return f"{setup.scenario.digest}/{run}"


async def report_all(address: str, run_id: str, agent: int, rounds: Sequence[Sequence[Played]]) -> list[Any]:
    """Report an agent's part of some rounds and return the last answer to each, by round.

    An observer that concludes meanwhile answers the last round once more, in between.
    """
    async with grpc.aio.insecure_channel(address) as channel:
        reporter = await Reporter(channel, agent, run_id).open()
        await reporter.report(*(play_report(played[agent]) for played in rounds))
        await reporter.call.done_writing()
        answers: dict[int, Any] = {}
        while len(answers) < len(rounds):
            (answer,) = await reporter.answers(1)
            answers[answer.round] = answer
        return [answers[t] for t in sorted(answers)]


async def report_network(address: str, setup: Setup, rounds: Sequence[Sequence[Played]]) -> list[list[Any]]:
    """Report all agents' parts at the same time; answers by agent."""
    digest = run_id(setup)
    return await asyncio.gather(*(report_all(address, digest, i, rounds) for i in range(setup.n)))


def new_folder(path: Path, chosen: Scenario) -> RunFolder:
    return RunFolder.create(path, dump(chosen))


@contextmanager
def kept_place() -> Iterator[Place]:
    """Keep a place on loopback for an observer."""
    with loopback_places(0) as places:
        yield places.observer


@dataclass
class Observing:
    """An observer that runs in this event loop."""

    place: Place
    stop: asyncio.Event
    task: asyncio.Task[None]

    async def ended(self) -> None:
        async with asyncio.timeout(DEADLINE):
            await self.task


@asynccontextmanager
async def observing(
    folder: RunFolder, *, stay: bool = False, transport: Transport = GRPC
) -> AsyncIterator[Observing]:
    """Run an observer on a folder; it is told to stop when the block ends."""
    with kept_place() as place:
        stop = asyncio.Event()
        config = observer.ObserverConfig(
            str(folder.scenario_path), place, out=folder.path, stay=stay, transport=transport
        )
        running = Observing(place, stop, asyncio.create_task(observer.serve(config, stop)))
        try:
            await listening(place, transport)
            yield running
        finally:
            stop.set()
            await running.ended()


async def listening(place: Place, transport: Transport = GRPC) -> None:
    """Wait until a server is ready."""
    async with asyncio.timeout(DEADLINE):
        await until_serving(
            place.address, transport, "observer"
        )  # a plain channel tries again after a second


async def metrics_of(place: Place) -> dict[str, float]:
    """Return what a service exports, by name; of several series with one name, the last."""
    families = text_string_to_metric_families(await asyncio.to_thread(_get, place, "/metrics"))
    return {sample.name: sample.value for family in families for sample in family.samples}


async def targets_of(place: Place) -> dict[str, str]:
    """Return the jobs that Prometheus finds at an observer's, by where their metrics are."""
    groups = json.loads(await asyncio.to_thread(_get, place, "/targets"))
    return {target: group["labels"]["job"] for group in groups for target in group["targets"]}


def _get(place: Place, path: str) -> str:
    url = f"http://{place.host}:{place.metrics_port}{path}"
    with urllib.request.urlopen(url, timeout=DEADLINE) as response:
        text: str = response.read().decode()
    return text
