"""A run in one process on virtual time, from its first round to its summary."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from edgefw.local.completing import complete
from edgefw.local.emulation import Emulated, board_of, prepared
from edgefw.records import LOGS
from edgefw.services.emulable import check_emulable
from edgefw.virtual.logs import logs_by_service
from edgefw.virtual.loop import START, VirtualLoop
from edgefw.virtual.machine import virtual_machine
from edgefw.virtual.together import Together, memory_places

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.local.liveview import View
    from edgefw.scenario.model import Scenario


def emulate(scenario: Scenario, out: Path | None, view: type[View]) -> Emulated:
    """Run a scenario as services of this process; its folder is `out`, or a new one in runs/.

    SIGINT and SIGTERM end it, with a summary of what was played; a second one ends it at once.
    """
    check_emulable(scenario)
    # The setup is kept while the run lasts: the services find its data, and need not make them again.
    (folder, _setup), loop = prepared(scenario, out), VirtualLoop()
    places = memory_places(scenario.network.agents)
    together = Together(folder, places, virtual_machine(loop))
    shown = view(board_of(scenario), places, together.network.http.connect)
    session = VirtualEmulation(together, shown, loop)
    began = START / 1e9
    # One thread, as processes have it: the plays are to be the same, bit for bit.
    with threadpool_limits(1), logs_by_service(folder.path / LOGS, lambda: loop.time() - began):
        complete(session, loop)
    return Emulated(folder, scenario, session.interrupted)


class VirtualEmulation:
    """One run of the services. Time is theirs; whoever looks does so in real time, between two turns."""

    def __init__(self, together: Together, view: View, loop: VirtualLoop) -> None:
        self._together, self._view, self._loop = together, view, loop
        self._life: asyncio.Task[None] | None = None
        self._next_look = 0.0
        self.interrupted = False

    async def run(self) -> None:
        """Run to the end, or until told to stop."""
        if self.interrupted:  # before it began
            return
        self._life = asyncio.create_task(self._together.serve())
        with self._view:
            self._loop.turned = self._look
            try:
                await asyncio.wait({self._life})
            finally:
                self._loop.turned = lambda: None
        if not self._life.cancelled():
            self._life.result()

    def interrupt(self) -> None:
        """Stop cleanly at the first call, at once at the second; called in the event loop."""
        if self._life is not None and self.interrupted:
            self._life.cancel()
        elif self._life is not None:
            self._view.announce("stopping (once more: end now)")
            self._together.stop.set()
        self.interrupted = True

    def _look(self) -> None:
        """Let the view look, if it is time for that where people are."""
        if monotonic() >= self._next_look:
            self._next_look = float("inf")
            self._looking = self._loop.create_task(self._refresh())

    async def _refresh(self) -> None:
        await self._view.refresh("running")
        self._next_look = monotonic() + self._view.tick
