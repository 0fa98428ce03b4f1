"""A broker that is killed at random moments, again and again: what it took comes once, never early."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from edgefw.benchmarks.broker_load import BrokerProcess, LoadLink, broker_process, load_links
from edgefw.scenario.load import validate

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.scenario.model import Scenario

pytestmark = pytest.mark.slow

AGENTS = 10
PATIENCE = 300.0


@dataclass
class Load:
    """`count` feedbacks in all, `kills` kills of the broker meanwhile."""

    count: int
    kills: int

    @property
    def rounds(self) -> int:
        return self.count // AGENTS

    def scenario(self) -> Scenario:
        spread = {"type": "latency", "latency": "300ms", "jitter": "300ms", "distribution": "uniform"}
        document = {"network": {"agents": AGENTS}, "algorithm": {"horizon": self.rounds}, "delays": [spread]}
        return validate(document, source="test")


def payload(agent: int, s: int) -> bytes:
    return b"%d of %d " % (s, agent) * 100


async def submit_all(link: LoadLink, agent: int, rounds: int, pace: float) -> None:
    """Submit every round, one after the other, as an agent would; a few unanswered ones at a time."""
    room = asyncio.Semaphore(8)

    async def submit(s: int) -> None:
        async with room:
            await link.submit(s, payload(agent, s))

    async with asyncio.TaskGroup() as tasks:
        for s in range(1, rounds + 1):
            async with room:
                tasks.create_task(submit(s))
            await asyncio.sleep(pace)


async def kill_at_random(broker: BrokerProcess, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(kills):
        await asyncio.sleep(chance.uniform(0.02, 0.4))
        assert await broker.end(signal.SIGKILL) == -signal.SIGKILL
        await broker.start()


async def everything_has_come(links: list[LoadLink], rounds: int) -> None:
    while any(len(link.received) < rounds for link in links):  # noqa: ASYNC110 - bounded by the test's patience
        await asyncio.sleep(0.05)


FEW, MANY = Load(2_000, 6), Load(20_000, 20)


@pytest.mark.parametrize("load", [FEW, pytest.param(MANY, marks=pytest.mark.thorough)], ids=str)
def test_what_is_accepted_is_delivered_once_in_spite_of_kills(tmp_path: Path, load: Load) -> None:
    async def run() -> None:
        scenario = load.scenario()
        async with (
            asyncio.timeout(PATIENCE),
            broker_process(scenario, tmp_path) as broker,
            load_links(broker.address, scenario.digest, AGENTS) as links,
        ):
            killing = asyncio.create_task(kill_at_random(broker, load.kills, seed=5))
            await asyncio.gather(
                *(submit_all(link, agent, load.rounds, 0.008) for agent, link in enumerate(links))
            )
            await killing
            await everything_has_come(links, load.rounds)
            check(links, load)

    asyncio.run(run())


def check(links: list[LoadLink], load: Load) -> None:
    every = set(range(1, load.rounds + 1))
    for link in links:
        assert link.answered == every
        assert link.received.keys() == every  # each applied once: copies are counted apart
    late = [value for link in links for value in link.lateness()]
    early = [value for value in late if value < 0]
    copies = sum(link.copies for link in links)
    told = f"{len(late)} accepted and delivered, {copies} copies, {len(early)} early, {load.kills} kills"
    sys.stdout.write(f"{told}\n")  # `pytest -s` shows the counts
    assert not early
