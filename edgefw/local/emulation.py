"""A run as processes on this machine, from the first service's start to the last one's end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from edgefw import terminal
from edgefw.errors import InputError
from edgefw.local.board import Board
from edgefw.local.completing import complete
from edgefw.local.folder import prepare, remove_memories
from edgefw.local.ports import ADMIN_PORT, Places, loopback_places
from edgefw.local.processes import OBSERVER, processes
from edgefw.local.supervisor import ServiceError, Supervisor
from edgefw.page.prepare import MISSING, installed
from edgefw.records import LOGS, SUMMARY, RunFolder, unused
from edgefw.scenario.plan import never_met
from edgefw.scenario.setup import resolve
from edgefw.services.emulable import check_emulable
from edgefw.transport.credentials import read_tls, services

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.local.liveview import View
    from edgefw.scenario.model import Scenario
    from edgefw.scenario.setup import Setup

READY_SECONDS = 60.0  # for a service to be ready, and
READY_SECONDS_EACH = 2.0  # more for each one that starts at the same time
SCORE_SECONDS = 330.0  # for the observer to find the best fixed point after the last play, with some to spare


class Emulated(NamedTuple):
    """A run that is over; `interrupted` if a signal cut it short."""

    folder: RunFolder
    scenario: Scenario
    interrupted: bool

    def require_whole(self) -> None:
        """Raise where not all rounds are on record; KeyboardInterrupt where a signal is the reason."""
        if self.interrupted:
            raise KeyboardInterrupt(f"{self.folder.path} has the rounds that were played")
        summary, rounds = self.folder.summary(), self.scenario.algorithm.rounds
        played = 0 if summary is None else summary.rounds
        if played < rounds:
            log = f"{self.folder.path}/{LOGS}/{OBSERVER}.log"
            raise ServiceError(f"{played} of {rounds} rounds were recorded: see {log}")


def emulate(
    scenario: Scenario,
    out: Path | None,
    view: Callable[[Board, Places], View],
    *,
    stay: bool = False,
    memory: bool = False,
    admin_port: int | None = None,
    tls: Path | None = None,
) -> Emulated:
    """Run a scenario as processes; its folder is `out`, or a new one in runs/.

    `tls` is the folder with the certificates of all services; without one, calls are not encrypted.

    SIGINT and SIGTERM end it, with a summary of what was played; a second one ends it at once.
    """
    check_emulable(scenario)
    if tls is not None:
        check_certificates(tls, scenario.network.agents)
    with loopback_places(scenario.network.agents, admin_port) as places:
        folder = prepared(scenario, out)[0]
        shown, hint = view(board_of(scenario), places), delay_hint(scenario, places)
        session = Emulation(folder.path, places, shown, hint, stay=stay, memory=memory, tls=tls)
        complete(session, asyncio.new_event_loop())
    remove_memories(folder.path)  # all have ended well: nobody will ask for what they hold
    return Emulated(folder, scenario, session.interrupted)


def check_certificates(folder: Path, agents: int) -> None:
    """Refuse a folder in which the certificate of a service is missing."""
    missing = [name for name in services(agents) if not (folder / name).is_dir()]
    if missing:
        raise InputError(
            f"there is no certificate of {', '.join(missing)} in {folder}: "
            f"edgefw certs {folder} --agents {agents} makes what is missing"
        )
    for name in services(agents):
        read_tls(folder / name)


def prepared(scenario: Scenario, out: Path | None) -> tuple[RunFolder, Setup]:
    """Make the run folder; return the setup as well, which has the data: while it is kept, they are."""
    terminal.warn(never_met(scenario))
    with terminal.status("preparing the run"):
        setup = resolve(scenario)
        return prepare(setup, unused(Path("runs"), scenario.name) if out is None else out), setup


def board_of(scenario: Scenario) -> Board:
    """Return what is shown of a run that has not begun."""
    title = f"{scenario.name} ({scenario.network.agents} agents, {scenario.network.topology})"
    return Board(title, scenario.algorithm.rounds, scenario.clock, scenario.network.agents)


def delay_hint(scenario: Scenario, places: Places) -> str:
    """Return how to change delays of this run; with another at the usual port it has to be said which."""
    agent, late = min(3, scenario.network.agents - 1), "750ms" if scenario.clock == "wall" else "20"
    admin = f"{places.broker.host}:{places.admin}"
    which = "" if places.admin == ADMIN_PORT else f" --admin {admin}"
    return f"change delays: edgefw delay set {agent} {late}{which}, or http://{admin}/docs"


class Emulation:
    """One run of the services, from their start to their end."""

    def __init__(
        self,
        path: Path,
        places: Places,
        view: View,
        hint: str,
        *,
        stay: bool,
        memory: bool,
        tls: Path | None,
    ) -> None:
        self._path, self._places, self._view, self._hint, self._stays = path, places, view, hint, stay
        self._services = processes(path, places, stay=stay, memory=memory)
        self._supervisor = Supervisor(path / LOGS, view.say, tls)
        self._life: asyncio.Task[None] | None = None
        self._over = False  # whether the run has come to its end, though services may stay up
        self.interrupted = False

    async def run(self) -> None:
        """Run to the end, or until told to stop; stop all services in any case."""
        if self.interrupted:  # before it began
            return
        self._life = asyncio.create_task(self._live())
        await asyncio.wait({self._life})
        if not self._life.cancelled():
            self._life.result()

    def interrupt(self) -> None:
        """Stop cleanly at the first call, at once at the second; called in the event loop."""
        if self._life is None:
            self.interrupted = True
        elif self._life.cancelling() or self._supervisor.stopping:
            self._supervisor.hurry()
        else:
            self.interrupted = not self._over
            self._view.announce("stopping all services (once more: end them now)")
            self._life.cancel()

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
        self._view.announce(f"{self._page()}\n{self._hint}")
        await self._view.refresh("starting agents")
        await supervisor.start(services.agents)
        await supervisor.ready(READY_SECONDS + len(services.agents) * READY_SECONDS_EACH)
        await self._view.refresh("running")

    async def _play(self) -> None:
        """Follow the run until the agents have played and the observer has scored."""
        while self._supervisor.running(OBSERVER) and self._plays():
            await self._follow("running")
        deadline = monotonic() + SCORE_SECONDS
        while self._supervisor.running(OBSERVER) and monotonic() < deadline:
            await self._follow("scoring")
        self._over = True

    def _plays(self) -> bool:
        """Whether an agent has not ended; where the observer has, it waits for an answer in vain."""
        return any(self._supervisor.running(agent.name) for agent in self._services.agents)

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

    def _page(self) -> str:
        """Return where the live page is, or what it needs."""
        place = self._places.observer
        return f"live page: {f'http://{place.host}:{place.metrics_port}/' if installed() else MISSING}"

    def _metrics(self) -> str:
        named = [("broker", self._places.broker), (OBSERVER, self._places.observer)]
        named += [(f"agent-{i}", place) for i, place in enumerate(self._places.agents)]
        return "\n".join(f"{name}: http://{place.host}:{place.metrics_port}/metrics" for name, place in named)
