"""What rounds of the real services cost, each process by its kind: a longer run less a shorter one.

The difference leaves out what starting and ending take. Time goes from the first sweep to the last play, as
summary.json has it.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.benchmarks.measure import UnitCost
from edgefw.benchmarks.processor import PROC, TICK, helpers_seconds, own_seconds
from edgefw.local.folder import prepare
from edgefw.local.ports import loopback_places
from edgefw.local.processes import processes
from edgefw.local.running import running
from edgefw.local.supervisor import ServiceError, Supervisor
from edgefw.records import LOGS, SUMMARY
from edgefw.scenario.setup import resolve

if TYPE_CHECKING:
    from edgefw.benchmarks.setting import BenchNetwork
    from edgefw.local.ports import Places
    from edgefw.scenario.model import Scenario

READY_SECONDS, RUN_SECONDS = 300.0, 900.0
_LOOK = 0.1  # seconds between two looks for the summary


@dataclass(frozen=True)
class Services:
    """Seconds of processor by kind of service; helpers are the comparator and what draws the page."""

    agents: float
    broker: float
    observer: float
    helpers: float

    @property
    def learning(self) -> float:
        """What learning takes: without scoring, recording and the best fixed point."""
        return self.agents + self.broker

    @property
    def whole(self) -> float:
        """All but the search for the best fixed point: it depends on the run, not on its rounds."""
        return self.learning + self.observer

    def less(self, other: Services, rounds: int) -> Services:
        """Return what one of `rounds` more rounds takes."""
        return Services(
            (self.agents - other.agents) / rounds,
            (self.broker - other.broker) / rounds,
            (self.observer - other.observer) / rounds,
            (self.helpers - other.helpers) / rounds,
        )


def rounds_cost(network: BenchNetwork) -> tuple[UnitCost, Services]:
    """Return what a round costs, in all and by kind of service."""
    few_wall, few = asyncio.run(_run(network.scenario(network.warm_up)))
    many_wall, many = asyncio.run(_run(network.scenario(network.warm_up + network.rounds)))
    services = many.less(few, network.rounds)
    cpu = max(services.whole, TICK / network.rounds)
    return UnitCost((many_wall - few_wall) / network.rounds, cpu), services


async def _run(scenario: Scenario) -> tuple[float, Services]:
    """Return the seconds from the first sweep to the last play, and what all services have used."""
    with (
        tempfile.TemporaryDirectory(prefix="edgefw-bench-") as parent,
        loopback_places(scenario.network.agents) as places,
    ):
        folder = prepare(resolve(scenario), Path(parent) / "run")
        used = await _used(folder.path, places)
        summary = folder.summary()
        if summary is None:
            raise ServiceError(f"the run has no summary, though it is over: {folder.path}")
        return summary.wall_seconds, used


async def _used(path: Path, places: Places) -> Services:
    services = processes(path, places, stay=True, memory=True)
    async with Supervisor(path / LOGS, terminal.err.print) as supervisor, asyncio.timeout(RUN_SECONDS):
        await supervisor.start([services.observer])
        await supervisor.start([services.broker])
        await supervisor.start(services.agents)
        await supervisor.ready(READY_SECONDS)
        while not (path / SUMMARY).exists():
            await supervisor.wait(_LOOK)
        return _seconds(path)


def _seconds(path: Path) -> Services:
    """Return what the services of the run in a folder have used."""
    (run,) = (each for each in running(PROC) if each.folder == path)
    used = dict.fromkeys(("agent", "broker", "observer"), 0.0)
    for service in run.services:
        used[service.kind] += own_seconds(service.pid)
    helpers = sum(helpers_seconds(service.pid) for service in run.services)
    return Services(used["agent"], used["broker"], used["observer"], helpers)
