"""How processes become a part of a run: all are waited for, and nobody takes another's place."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
import playback
import pytest
from playback import DEADLINE
from prometheus_client import CollectorRegistry
from waiting import eventually

from edgefw.scenario.load import parse
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.config import AgentConfig, unpack_shard
from edgefw.services.observer import joining as module
from edgefw.services.observer import service as observer
from edgefw.services.observer.attendance import Attendance
from edgefw.services.observer.briefing import shard
from edgefw.services.observer.joining import Joining
from edgefw.services.observer.streams import Expected, ReportServicer
from edgefw.telemetry.metrics import ObserverMetrics
from edgefw.transport.joining import CompleteError, Joined, JoinError, join
from edgefw.transport.server import RpcServer
from edgefw.v1 import observer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from edgefw.services.config import Place

N = 3
SCENARIO: dict[str, Any] = {"network": {"agents": N, "topology": "line"}, "algorithm": {"horizon": 6}}


@dataclass
class Run:
    """An observer, and how its agents join it."""

    setup: Setup
    address: str
    place: Place | None = None

    async def targets(self) -> dict[str, str]:
        """Return the jobs that Prometheus finds, by where their metrics are."""
        assert self.place is not None
        return await playback.targets_of(self.place)

    async def join(
        self, agent: int | None = None, address: str | None = None, remembered: str | None = None
    ) -> Joined:
        where = address or ("broker:1" if agent is None else f"agent-{agent}:1")
        async with asyncio.timeout(DEADLINE):
            return await join(self.address, where, 9464, agent, remembered=remembered)

    async def answered(self) -> None:
        """Let a call go there and back: whatever was to be answered before has been."""
        with pytest.raises(JoinError, match="there is no agent"):
            await self.join(N)

    async def next_run(self, old: str) -> str:
        """Return the run_id of the run after this one, asking for it as the broker does."""
        async with asyncio.timeout(DEADLINE):
            while (new := (await self.join()).run_id) == old:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.02)
            return new

    async def join_all(self) -> list[Joined]:
        """Let the broker and then every agent join; return what the agents are told."""
        await self.join()
        return await asyncio.gather(*(self.join(i) for i in range(N)))

    async def play(self, run_id: str, rounds: int = 6) -> None:
        """Let agents report the first rounds."""
        played = playback.play_all(self.setup)[:rounds]
        await asyncio.gather(*(playback.report_all(self.address, run_id, i, played) for i in range(N)))


async def _forget(_members: str) -> None:
    pass


@asynccontextmanager
async def joining(
    keep: Callable[[str], Awaitable[None]] = _forget,
) -> AsyncIterator[tuple[Run, Joining]]:
    """Let processes join without an observer around."""
    setup, server = resolve(playback.scenario(**SCENARIO)), RpcServer()
    attendance = Attendance(N, asyncio.get_running_loop().time)
    members = Joining(setup, "digest/run", attendance, again=None, keep=keep)
    metrics = ObserverMetrics(CollectorRegistry())
    expected, calls = Expected("digest/run", N, (1, 1), 1.0), (members.serve, attendance, members.serve)
    servicer = ReportServicer(expected, lambda _: None, lambda _: None, metrics, *calls)
    add = partial(observer_service_pb2_grpc.add_ObserverServiceServicer_to_server, servicer)
    port = await server.start("127.0.0.1:0", add)
    try:
        yield Run(setup, f"127.0.0.1:{port}"), members
    finally:
        await server.stop()


@asynccontextmanager
async def observing_anew(tmp_path: Path) -> AsyncIterator[Run]:
    setup = resolve(playback.scenario(**SCENARIO))
    folder = playback.new_folder(tmp_path / "given", setup.scenario)
    with playback.kept_place() as place:
        stop = asyncio.Event()
        config = observer.ObserverConfig(str(folder.scenario_path), place, runs=tmp_path / "runs", stay=True)
        serving = asyncio.create_task(observer.serve(config, stop))
        try:
            await playback.listening(place)
            yield Run(setup, place.address, place)
        finally:
            stop.set()
            async with asyncio.timeout(DEADLINE):
                await serving


def test_who_went_away_while_it_was_written_down_is_written_down_when_it_comes_again() -> None:
    async def test() -> None:
        kept: list[str] = []
        stuck = asyncio.Event()

        async def keep(members: str) -> None:
            if not stuck.is_set():
                stuck.set()
                await asyncio.Event().wait()
            kept.append(members)

        async with joining(keep) as (run, _):
            gone = asyncio.create_task(run.join())
            await asyncio.wait_for(stuck.wait(), DEADLINE)
            gone.cancel()
            await asyncio.wait({gone})
            await run.join()
            await run.join()
            assert ["broker:1" in members for members in kept] == [True]

    asyncio.run(test())


def test_agents_are_told_what_they_need_when_all_have_come() -> None:
    async def test() -> None:
        async with joining() as (run, members):
            agents = [asyncio.create_task(run.join(i)) for i in range(N)]
            await eventually(lambda: members._addresses.keys() == set(range(N)))
            await run.answered()
            assert not any(task.done() for task in agents)  # the broker is missing
            broker = await run.join()
            assert parse(broker.configuration.decode(), "test") == run.setup.scenario
            assert broker.samples == b""
            told = await asyncio.gather(*agents)
            assert {each.run_id for each in told} == {broker.run_id}
            assert broker.run_id == "digest/run"
            for i, each in enumerate(told):
                config = AgentConfig.from_json(each.configuration)
                assert (config.spec.agent, config.run_id, config.broker) == (i, broker.run_id, "broker:1")
                assert config.peers == {j: f"agent-{j}:1" for j in run.setup.graph.neighbours(i)}
                samples, index = unpack_shard(each.samples, config), shard(run.setup, i)
                np.testing.assert_array_equal(samples.features, run.setup.dataset.features[index])
                np.testing.assert_array_equal(samples.labels, run.setup.dataset.labels[index])

    asyncio.run(test())


def test_samples_that_do_not_fit_into_a_message_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 100)

    async def test() -> None:
        async with joining() as (run, _):
            for i, each in enumerate(await run.join_all()):
                assert len(each.samples) > 1_000
                samples = unpack_shard(each.samples, AgentConfig.from_json(each.configuration))
                assert len(samples) == len(shard(run.setup, i))

    asyncio.run(test())


@pytest.mark.parametrize(
    ("agent", "address", "words"),
    [
        (3, "agent-3:1", "there is no agent 3: agents are 0 to 2"),
        (0, "", "the address '' is not HOST:PORT"),
        (0, "agent-0", "the address 'agent-0' is not HOST:PORT"),
        (0, "agent-0:0", "the address 'agent-0:0' is not HOST:PORT"),
        (0, "agent\n0:1", r"the address 'agent\\n0:1' is not HOST:PORT"),
        (0, "a" * 300 + ":1", f"the address '{'a' * 64}' is not HOST:PORT"),
    ],
)
def test_who_does_not_belong_to_the_run_is_turned_away(agent: int, address: str, words: str) -> None:
    async def test() -> None:
        async with joining() as (run, _):
            with pytest.raises(JoinError, match=f"INVALID_ARGUMENT: {words}"):
                await join(run.address, address, 9464, agent)

    asyncio.run(test())


@pytest.mark.parametrize("address", ["127.0.0.1:50051", "[::1]:50051", "agent_0.edge-net.local:65535"])
def test_an_address_is_one_of_a_host_and_a_port(address: str) -> None:
    async def test() -> None:
        async with joining() as (run, _):
            assert (await run.join(address=address)).run_id == "digest/run"

    asyncio.run(test())


@pytest.mark.parametrize("port", [0, 65_536, 4_000_000_000])
def test_a_port_of_the_metrics_is_a_port(port: int) -> None:
    async def test() -> None:
        async with joining() as (run, _):
            with pytest.raises(JoinError, match=f"the port of the metrics is {port}: ports are 1 to 65535"):
                await join(run.address, "agent-0:1", port, 0)

    asyncio.run(test())


def test_before_the_start_an_agent_may_come_again_from_another_address() -> None:
    async def test() -> None:
        async with joining() as (run, members):
            await run.join()
            first = asyncio.create_task(run.join(1, "elsewhere:1"))
            await eventually(lambda: members._addresses.get(1) == "elsewhere:1")
            first.cancel()  # it died while it waited
            await asyncio.gather(first, return_exceptions=True)
            await eventually(lambda: 1 not in members._addresses)
            others = [asyncio.create_task(run.join(i)) for i in (0, 2)]
            await eventually(lambda: {0, 2} <= members._addresses.keys())
            await run.answered()
            assert not any(task.done() for task in others)
            told = await asyncio.gather(*(run.join(i) for i in range(N)))
            assert AgentConfig.from_json(told[0].configuration).peers == {1: "agent-1:1"}
            assert [await task for task in others] == [told[0], told[2]]
            assert await run.join(1) == told[1]  # and once more, all being there

    asyncio.run(test())


def test_the_broker_may_come_again_at_any_time() -> None:
    async def test() -> None:
        async with joining() as (run, members):
            told = await run.join_all()
            members.played.add(1)
            again = await run.join()
            assert again.run_id == told[0].run_id

    asyncio.run(test())


def test_an_agent_that_comes_to_a_run_that_has_begun_is_turned_away() -> None:
    async def test() -> None:
        async with joining() as (run, members):
            await run.join_all()
            members.played.add(1)
            with pytest.raises(JoinError, match="FAILED_PRECONDITION: agent 1 comes to a run that has begun"):
                await run.join(1)
            with pytest.raises(JoinError, match="FAILED_PRECONDITION: agent 1 comes to a run that has begun"):
                await run.join(1, remembered="another")

    asyncio.run(test())


def test_an_agent_that_remembers_the_run_or_has_not_played_yet_may_come_again() -> None:
    async def test() -> None:
        async with joining() as (run, members):
            told = await run.join_all()
            members.played.add(1)
            assert await run.join(1, remembered=told[1].run_id) == told[1]
            assert await run.join(2) == told[2]

    asyncio.run(test())


def test_who_comes_when_all_plays_are_on_record_is_told_that_the_run_is_over() -> None:
    async def test() -> None:
        async with joining() as (run, members):
            told = await run.join_all()
            members.complete = True
            with pytest.raises(CompleteError, match="agent 1 is not needed any more: the run is over"):
                await run.join(1, remembered=told[1].run_id)
            assert (await run.join()).run_id == told[
                1
            ].run_id  # the broker may still have to tell its account

    asyncio.run(test())


def test_an_observer_that_was_started_again_knows_that_its_run_has_begun(tmp_path: Path) -> None:
    async def test() -> None:
        setup = resolve(playback.scenario(**SCENARIO))
        folder = playback.new_folder(tmp_path / "run", setup.scenario)
        async with playback.observing(folder) as first:
            run = Run(setup, first.place.address)
            told = await run.join_all()
            await run.play(told[0].run_id, rounds=2)
        async with playback.observing(folder) as second:
            with pytest.raises(JoinError, match="comes to a run that has begun"):
                await Run(setup, second.place.address).join(1)

    asyncio.run(test())


def test_a_run_that_an_agent_has_lost_is_started_anew_for_all(tmp_path: Path) -> None:
    async def test() -> None:
        async with observing_anew(tmp_path) as run:
            told = await run.join_all()
            old = told[0].run_id
            await run.play(old, rounds=2)
            agents = [asyncio.create_task(run.join(i)) for i in (1, 0, 2)]
            new = await run.next_run(old)
            assert {each.run_id for each in await asyncio.gather(*agents)} == {new}
            assert new.partition("/")[0] == old.partition("/")[0] == run.setup.scenario.digest
            assert {path.name for path in (tmp_path / "runs").iterdir()} == {
                each.partition("/")[2] for each in (old, new)
            }
            await run.play(new)
            code, details = await refusal(run, old)
            assert (code, "runs scenario" in details) == (grpc.StatusCode.FAILED_PRECONDITION, True)

    asyncio.run(test())


def test_an_agent_that_is_gone_stays_a_target_in_the_next_run(tmp_path: Path) -> None:
    everyone = {f"agent-{i}:9464": "agent" for i in range(N)} | {"broker:9464": "broker"}

    async def test() -> None:
        async with observing_anew(tmp_path) as run:
            old = (await run.join_all())[0].run_id
            assert await run.targets() == everyone
            await run.play(old, rounds=2)
            agents = [asyncio.create_task(run.join(i)) for i in (1, 2)]  # agent 0 is no more
            await run.next_run(old)
            assert await run.targets() == everyone
            for task in agents:
                task.cancel()
            await asyncio.gather(*agents, return_exceptions=True)
            assert await run.targets() == everyone

    asyncio.run(test())


async def refusal(run: Run, run_id: str) -> tuple[grpc.StatusCode, str]:
    async with grpc.aio.insecure_channel(run.address) as channel:
        return await (await playback.Reporter(channel, 0, run_id).open()).refusal()


def test_who_comes_first_waits_for_the_observer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(place: Place) -> None:
        setup, stop = resolve(playback.scenario(**SCENARIO)), asyncio.Event()
        folder = playback.new_folder(tmp_path / "run", setup.scenario)
        early = asyncio.create_task(Run(setup, place.address).join())
        await eventually(lambda: "to join: UNAVAILABLE" in caplog.text)
        config = observer.ObserverConfig(str(folder.scenario_path), place, out=folder.path)
        serving = asyncio.create_task(observer.serve(config, stop))
        assert (await early).run_id == playback.run_id(setup)
        stop.set()
        await serving

    with playback.kept_place() as place:
        asyncio.run(test(place))
