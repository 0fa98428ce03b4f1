"""Runs the services of a universe from their start to their end, through all that happens to them."""

from __future__ import annotations

import asyncio
import warnings
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from edgefw.errors import JournalFullError
from edgefw.local.folder import prepare
from edgefw.scenario.load import validate
from edgefw.scenario.setup import resolve
from edgefw.services.agent import service as agent
from edgefw.services.observer import service as observer
from edgefw.virtual.logs import SERVICE
from edgefw.virtual.loop import START, StandstillError
from edgefw.virtual.together import Together, memory_places
from universes.admin import Admin
from universes.checks import Checks
from universes.disk import Disk
from universes.draining import drain
from universes.events import Happenings, stranger
from universes.life import Life
from universes.loop import EndlessError, UniverseLoop
from universes.machine import RealTime, UniverseMachine
from universes.memory import MemoryWorker
from universes.network import UniverseNetwork
from universes.record import RecordWorker, leave_behind, missing
from universes.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from universes.draw import Universe

LONGEST = 400.0  # seconds of virtual time: with all that can happen, a run takes far less
_RESTART = 0.5  # seconds after which whoever watches over the broker starts it again
_AFTERLIFE = 200_000  # steps for what the dead have left


class ViolationError(Exception):
    """Something is not as it must be."""


@dataclass
class Started:
    """A life of a service."""

    life: Life
    task: asyncio.Task[None]
    stop: asyncio.Event
    memory: MemoryWorker | None = None


class World:
    """One universe while it runs."""

    def __init__(self, universe: Universe, folder: Path) -> None:
        self.universe = universe
        self.said: list[str] = []
        self.happened: list[int] = []
        self.violations: list[str] = []
        self.loop = UniverseLoop(universe.order(), LONGEST)
        self.loop.set_exception_handler(self._unhandled)
        self.real_time = RealTime(self.loop)
        self.disk = Disk(folder, universe.pauses(), universe.chance("disk"))
        self.wire = Wire()
        self.network = UniverseNetwork(universe.latencies(), self.wire, copy_context())
        self.places = memory_places(universe.agents)
        self.admin = Admin(self.network, self.places)
        self.setup = resolve(validate(universe.document, source=f"universe {universe.seed}"))
        self.folder = prepare(self.setup, folder / "run")
        self.run_id = f"{self.setup.scenario.digest}/run"
        pauses = universe.record_pauses()
        recorder = None if pauses is None else RecordWorker(self.disk, pauses)
        self.machine = UniverseMachine(self.real_time.clocks(), self.disk, recorder)
        self.together = Together(self.folder, self.places, self.machine, None, self.network)
        self.steps, self.seconds = 0, 0.0  # that it took, when it is over
        self.lives: list[Life] = []
        self.started: Started | None = None
        self.observed: Started | None = None
        self.agents: dict[int, Started | None] = {}
        self.heard = 0.0  # when everybody has heard of all that was killed
        self._memories = universe.memory_pauses()
        self._root = folder
        self.checks = Checks(self)
        self._aside: set[asyncio.Task[None]] = set()
        self._buried = False  # whether nothing begins any more
        self._wakes = asyncio.Event()  # a service has ended, or something is wrong
        self._stranger = stranger()

    # -- what events do --

    def say(self, what: str) -> None:
        """Note what happens, for whoever replays it."""
        self.said.append(f"{(self.loop.time_ns() - START) / 1e9:9.4f} {what}")

    def violated(self, what: str) -> None:
        """Note what must not be; the universe ends."""
        self.say(f"VIOLATION: {what}")
        self.violations.append(what)
        self._wakes.set()

    def life(self, name: str) -> Life | None:
        """Return the present life of a service."""
        return next((life for life in reversed(self.lives) if life.name == name), None)

    def aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Let somebody who is no service do something."""
        context = self._stranger.context()
        task = self.loop.create_task(work, name="stranger", context=context)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard, context=self.network.nobody)

    def kill_broker(self, tail: str, *, lost: bool) -> bool:
        """Kill the broker, if it lives; return whether it did."""
        if self.started is None:
            return False
        life = self.started.life
        life.dead = True
        self.started = None
        self.network.sever(life, lost=lost)
        self.disk.crash(tail)
        self.say(f"the broker is killed; of a commit under way is left: {self.disk.crashes[-1]}")
        return True

    def start_broker(self) -> None:
        """Start the broker from what is on its disk."""
        if self.started is None and not self._buried:
            together, stop = replace(self.together, journal=self.disk.journal), asyncio.Event()
            life, task = self._start("broker", together.broker(stop))
            self.started = Started(life, task, stop)

    def kill_observer(self, *, lost: bool) -> bool:
        """Kill the observer, if it lives; return whether it did."""
        if self.observed is None:
            return False
        life = self.observed.life
        life.dead = True
        self.observed = None
        self.network.sever(life, lost=lost)
        leave_behind(self.folder.path)
        self.say("the observer is killed")
        for what in missing(self.folder.path, self.wire):
            self.violated(what)
        return True

    def start_observer(self) -> None:
        """Start the observer on its run folder; it stays: a broker that comes back finds it."""
        if self.observed is None and not self._buried:
            stop = asyncio.Event()
            config = observer.ObserverConfig(
                str(self.folder.scenario_path),
                self.places.observer,
                out=self.folder.path,
                stay=True,
                transport=self.network,
                machine=self.machine,
            )
            self.observed = Started(*self._start("observer", observer.serve(config, stop)), stop)

    def kill_agent(self, i: int, tail: str, *, lost: bool) -> bool:
        """Kill an agent, if it lives; return whether it did."""
        if (started := self.agents[i]) is None or started.task.done():
            return False
        started.life.dead = True
        self.agents[i] = None
        self.network.sever(started.life, lost=lost)
        if started.memory is not None:
            started.memory.crash(tail, self.universe.chance(f"{i}/{started.life.steps}"))
        self.say(f"agent {i} is killed")
        return True

    def start_agent(self, i: int) -> None:
        """Start an agent, from what is on its disk."""
        if self._buried or self.agents.get(i) is not None:
            return
        if self._memories is None:
            self.agents[i] = Started(*self._start(f"agent-{i}", self.together.agent(i)), self.together.stop)
            return
        folder, place = self._root / f"agent-{i}", self.places.agents[i]
        memory = MemoryWorker(folder, self._memories)
        options = agent.AgentOptions(
            i,
            self.places.observer.address,
            place,
            place.address,
            transport=self.network,
            machine=replace(self.machine, memory=memory),
            checkpoints=folder,
        )
        life, task = self._start(f"agent-{i}", agent.serve(options, self.together.stop))
        self.agents[i] = Started(life, task, self.together.stop, memory)
        self._wakes.set()

    # -- a run --

    def run(self) -> None:
        """Run to the end; what is wrong is in `violations`."""
        asyncio.set_event_loop(self.loop)
        try:
            self._run_until(self._live())
        except (EndlessError, StandstillError) as error:
            self.violated(str(error))
        finally:
            self.steps, self.seconds = self.loop.steps, (self.loop.time_ns() - START) / 1e9
            self._bury()
            asyncio.set_event_loop(None)
            self.loop.close()

    def _run_until(self, work: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(self.loop.create_task(work, name="the universe"))

    async def _live(self) -> None:
        happenings = Happenings(self, self.universe.events, self.checks.now)
        self.start_observer()
        self.start_broker()
        for i in range(self.universe.agents):
            self.start_agent(i)
        happenings.begin()
        while not self._played() and not self.violations:
            self._wakes.clear()
            await self._wakes.wait()
        happenings.end()
        self.say("the run is over")
        if not self.violations:
            await drain(self)
        if not self.violations:
            await self._end()
            self.checks.at_the_end()

    def _played(self) -> bool:
        """Whether all agents have come to their end."""
        return all(started is not None and started.task.done() for started in self.agents.values())

    async def stop_broker(self) -> None:
        """Tell the broker to end, and wait until it has."""
        if self.started is not None:
            started, self.started = self.started, None
            started.stop.set()
            await asyncio.wait({started.task})

    async def _end(self) -> None:
        """Stop the services that are left."""
        for task in list(self._aside):
            await asyncio.wait({task})
        await self.stop_broker()
        self.together.stop.set()
        if self.observed is not None:
            self.observed.stop.set()
            await asyncio.wait({self.observed.task})

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> tuple[Life, asyncio.Task[None]]:
        life = Life(name)
        context = life.context()
        context.run(SERVICE.set, name)
        task = self.loop.create_task(work, name=name, context=context)
        task.add_done_callback(self._ended, context=self.network.nobody)
        self.lives.append(life)
        return life, task

    def _ended(self, task: asyncio.Task[None]) -> None:
        name = task.get_name()
        error = None if task.cancelled() else task.exception()
        if isinstance(error, JournalFullError) and self.started is not None and self.started.task is task:
            self.say("the broker could not begin on a full disk")
            self.started = None
            self.loop.call_later(_RESTART, self.start_broker)
        elif error is not None:
            self.violated(f"{name} has ended: {error!r}")
        elif not name.startswith("agent") and not self.told_to_end(task):
            self.violated(f"the {name} has ended, and nobody told it to")
        self._wakes.set()

    def told_to_end(self, task: asyncio.Task[None]) -> bool:
        """Whether a service that stays was told to end."""
        if task.get_name() == "observer":
            return self.observed is not None and self.observed.stop.is_set()
        return self.started is None or self.started.task is not task

    def _unhandled(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.violated(f"{context['message']}: {context.get('exception')!r}")

    def _bury(self) -> None:
        """Let all that is left end, so that no file or task stays; what they do now is of no account."""
        said, self._buried = list(self.violations), True
        self.loop.latest, self.loop.most_steps = 2**62, self.loop.steps + _AFTERLIFE
        self.loop.stepped = lambda _life: None
        self.wire.progress = lambda: None
        for life in self.lives:
            life.dead = False
            self.loop.resume(life)
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        with suppress(EndlessError, StandstillError), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # what never began is never awaited
            if tasks:
                self._run_until(_until_done(tasks))
        self.violations = said


async def _until_done(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # nobody else will look at it
