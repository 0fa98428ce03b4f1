"""A broker without its network, in a world whose time is whole seconds and passes when it is told to."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from prometheus_client import CollectorRegistry
from told_clock import ToldLoop
from told_journal import ToldJournal
from waiting import eventually

from edgefw.delays.hold import WallHold
from edgefw.delays.plan import plan_to_json
from edgefw.services.broker.journal import SqliteJournal, Tuning
from edgefw.services.broker.restore import make_or_restore
from edgefw.services.broker.service import Broker
from edgefw.services.machine import Clocks, Machine
from edgefw.telemetry.metrics import BrokerMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from edgefw.delays.link import Held
    from edgefw.scenario.model import Scenario
    from edgefw.services.broker.journal import Journal

T = TypeVar("T")
RUN_ID = "digest/run"
SECOND = 10**9


class World:
    """The time, real and since the machine was booted; the clocks that a broker is given."""

    def __init__(self) -> None:
        self.now, self.booted = 1_000, 900

    def monotonic(self) -> float:
        return float(self.now - self.booted)

    def clocks(self) -> Clocks:
        return Clocks(
            lambda: (self.now - self.booted) * SECOND, lambda: self.now * SECOND, lambda: str(self.booted)
        )


class Told:
    """A disk that is a `ToldJournal`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._journal: ToldJournal | None = None

    def begin(self) -> Journal:
        known = None if self._journal is None else self._journal.crashed()
        self._journal = ToldJournal(known, self._world.clocks())
        return self._journal

    async def crash(self) -> None:
        """Let go of the journal as a crash does."""

    def fill(self, *, full: bool) -> None:
        assert self._journal is not None
        self._journal.full = full

    def clear(self) -> None:
        """Leave nothing behind."""


class InFiles:
    """A disk with a `SqliteJournal`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._folder, self._number = Path(tempfile.mkdtemp()), 0
        self._path.parent.mkdir()
        self._journal: SqliteJournal | None = None

    @property
    def _path(self) -> Path:
        return self._folder / str(self._number) / "journal.sqlite"

    def begin(self) -> Journal:
        metrics = BrokerMetrics(CollectorRegistry())
        tuning = Tuning(recent=3, compact_every=4)
        self._journal = SqliteJournal(self._path, RUN_ID, metrics, tuning, Machine(self._world.clocks()))
        return self._journal

    async def crash(self) -> None:
        before = self._path.parent
        self._number += 1
        shutil.copytree(before, self._path.parent)  # as a crash leaves it
        assert self._journal is not None
        await self._journal.close()

    def fill(self, *, full: bool) -> None:
        """Do nothing of the kind."""

    def clear(self) -> None:
        shutil.rmtree(self._folder)


class Bare:
    """The parts of a broker, driven by hand: only faults begin and end by themselves, in `settle`."""

    def __init__(self, world: World, disk: Told | InFiles) -> None:
        self.world, self.disk = world, disk
        self._loop = ToldLoop(world.monotonic)  # else a busy machine wakes what waits for seconds to pass
        self._patch = pytest.MonkeyPatch()
        for module in ("account", "restore"):
            self._patch.setattr(f"edgefw.services.broker.{module}.loop_time", world.monotonic)
        self._ticking: asyncio.Task[None] | None = None
        self._released: list[Held] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call something that wants a running loop."""

        async def run() -> T:
            return function(*arguments)

        return self.run(run())

    def start(self, scenario: Scenario) -> None:
        self.run(self._start(scenario))

    async def _start(self, scenario: Scenario) -> None:
        registry = CollectorRegistry()
        self.journal = self.disk.begin()
        self.found = list(self.journal.restored.rows) if self.journal.restored else []
        self.hold = make_or_restore(scenario, self.journal)
        self.broker = Broker(RUN_ID, self.hold, self.journal, BrokerMetrics(registry), registry)
        self.control = self.broker.control
        self.control.release_due = self._release_due
        plan = self.hold.plan
        await self.journal.keep_plan(plan.version, plan_to_json(plan, self.journal.timeline.real))
        self._ticking = asyncio.create_task(self.control.run())

    def stop(self, *, cleanly: bool) -> None:
        """End the broker: it is told to, or dies."""
        self.run(self._stop(cleanly=cleanly))

    async def _stop(self, *, cleanly: bool) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)
            await (self.journal.close() if cleanly else self.disk.crash())
        self._ticking = None

    async def settle(self, *, full: bool) -> list[Held]:
        """Let faults begin and end (that takes a disk with room); return what has been released meanwhile."""
        self.control._changed.set()
        for _ in range(12):
            await asyncio.sleep(0)
        await eventually(
            lambda: full or not self._over(), "what is over is removed"
        )  # the disk takes its time
        self._release_due()
        released, self._released = self._released, []
        return released

    def _release_due(self) -> None:
        assert isinstance(self.hold, WallHold)
        self._released += self.hold.release(self.world.monotonic())

    def _over(self) -> bool:
        moment = self.hold.moment(self.world.monotonic())
        return bool(self.control.plan.over(moment, self.hold.start))

    def close(self) -> None:
        self.stop(cleanly=True)
        self._loop.close()
        self._patch.undo()
        self.disk.clear()
