"""`edgefw up`: a scenario as processes on this machine, watched from the terminal."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.commands import summary_view
from edgefw.records import SUMMARY, unused
from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve
from edgefw.services.network.board import Board
from edgefw.services.network.liveview import LiveView, PlainView, View
from edgefw.services.network.ports import loopback_places
from edgefw.services.network.prepare import Places, check_emulable, prepare, remove_journal
from edgefw.services.network.processes import OBSERVER, processes
from edgefw.services.network.supervisor import ServiceError, Supervisor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.scenario.model import Scenario

READY_SECONDS = 30.0  # for a service to be ready, and
READY_SECONDS_EACH = 2.0  # more for each one that starts at the same time
SCORE_SECONDS = 330.0  # for the observer to find the best fixed point after the last play, with some to spare


def run(
    name: str,
    overrides: Sequence[str],
    *,
    out: str | None,
    headless: bool,
    stay: bool,
    memory: bool = False,
    admin_port: int | None = None,
) -> None:
    """Run a scenario as processes; write the run folder, show the summary.

    Raises KeyboardInterrupt where the run was cut short, after its summary was written.
    """
    scenario = load(name, overrides)
    check_emulable(scenario)
    path = _path(scenario, out)
    with loopback_places(scenario.network.agents, admin_port) as places:
        _prepare(scenario, path)
        view = _view(scenario, places, headless=headless)
        session = Session(path, places, view, stay=stay, memory=memory)
        asyncio.run(session.run())
    remove_journal(path)  # all have ended well: nobody will ask for what it holds
    _conclude(path, None if session.interrupted else scenario.algorithm.rounds)


def _conclude(path: Path, rounds: int | None) -> None:
    """Show the summary; `rounds` is how many there had to be, None where the run was cut short."""
    summary = summary_view.read(path)
    if summary is not None:
        summary_view.show([summary], path)
    if rounds is None:
        raise KeyboardInterrupt
    played = 0 if summary is None else summary.rounds
    if played < rounds:
        raise ServiceError(f"{played} of {rounds} rounds were recorded: see {path}/logs/{OBSERVER}.log")


def _path(scenario: Scenario, out: str | None) -> Path:
    return Path(out) if out else unused(Path("runs"), scenario.name)


def _prepare(scenario: Scenario, path: Path) -> None:
    """Make the run folder; the data are not kept in memory while the services run."""
    with terminal.status("preparing the run"):
        prepare(resolve(scenario), path)


def _view(scenario: Scenario, places: Places, *, headless: bool) -> View:
    title = f"{scenario.name} ({scenario.network.agents} agents, {scenario.network.topology})"
    board = Board(title, scenario.algorithm.rounds, scenario.clock, scenario.network.agents)
    return LiveView(board, places) if terminal.err.is_terminal and not headless else PlainView(board, places)


class Session:
    """One run of the services, from their start to their end."""

    def __init__(self, path: Path, places: Places, view: View, *, stay: bool, memory: bool) -> None:
        self._path, self._places, self._view, self._stays = path, places, view, stay
        self._services = processes(path, places, stay=stay, memory=memory)
        self._supervisor = Supervisor(path / "logs")
        self._over = False  # whether the run has come to its end, though services may stay up
        self.interrupted = False

    async def run(self) -> None:
        """Run to the end, or until told to stop; stop all services in any case."""
        life = asyncio.create_task(self._live())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, life)
        await asyncio.wait({life})
        if not life.cancelled():
            life.result()

    def _interrupt(self, life: asyncio.Task[None]) -> None:
        """Stop cleanly at the first signal, at once at the second."""
        if life.cancelling() or self._supervisor.stopping:
            self._supervisor.hurry()
            return
        self.interrupted = not self._over
        self._view.announce("stopping all services (once more: end them now)")
        life.cancel()

    async def _live(self) -> None:
        with self._view:
            async with self._supervisor:
                await self._start()
                if self._stays:
                    await self._stay()
                else:
                    await self._play()

    async def _start(self) -> None:
        """Start the services in order; agents begin to play when they have found each other."""
        supervisor, services = self._supervisor, self._services
        await self._view.refresh("starting observer and broker")
        await supervisor.start([services.observer])
        await supervisor.start([services.broker])
        await supervisor.ready(READY_SECONDS + 2 * READY_SECONDS_EACH)
        self._view.announce(f"change delays: edgefw delay --help, or http://{self._admin()}/docs")
        await self._view.refresh("starting agents")
        await supervisor.start(services.agents)
        await supervisor.ready(READY_SECONDS + len(services.agents) * READY_SECONDS_EACH)
        await self._view.refresh("running")

    async def _play(self) -> None:
        """Follow the run until the agents have played and the observer has scored."""
        while any(self._supervisor.running(agent.name) for agent in self._services.agents):
            await self._follow("running")
        deadline = monotonic() + SCORE_SECONDS
        while self._supervisor.running(OBSERVER) and monotonic() < deadline:
            await self._follow("scoring")
        self._over = True

    async def _stay(self) -> None:
        """Follow the run to its end and keep the services up after it: a signal ends them."""
        while not (self._path / SUMMARY).exists():
            await self._follow("running")
        self._over = True
        over = f"the run is over, its summary in {self._path}; services stay up, Ctrl-C ends them"
        self._view.announce(f"{over}\n{self._metrics()}")
        while True:
            await self._follow("over")

    async def _follow(self, phase: str) -> None:
        await self._view.refresh(phase)
        await self._supervisor.wait(self._view.tick)

    def _admin(self) -> str:
        return f"{self._places.broker.host}:{self._places.admin}"

    def _metrics(self) -> str:
        named = [("broker", self._places.broker), (OBSERVER, self._places.observer)]
        named += [(f"agent-{i}", place) for i, place in enumerate(self._places.agents)]
        return "\n".join(f"{name}: http://{place.host}:{place.metrics_port}/metrics" for name, place in named)
