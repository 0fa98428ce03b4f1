"""The page of the run under way: the story that is told here anyway, and a way to the broker."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.page.about import about
from edgefw.page.app import PageApp
from edgefw.page.folder import read_story
from edgefw.page.groups import grouped
from edgefw.page.prepare import installed, prepared_line
from edgefw.page.story import Story
from edgefw.page.telling import Teller
from edgefw.records import DATABASE
from edgefw.services.observer.attendance import name
from edgefw.services.observer.beside import FREELY, make_player
from edgefw.services.observer.forwarding import Forward
from edgefw.services.observer.watch import OVERDUE
from edgefw.transport.race import end_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgefw.core.account import Entry
    from edgefw.records import RunFolder
    from edgefw.scenario.setup import Setup
    from edgefw.services.machine import Helper, Machine
    from edgefw.services.observer.ledger import Reported
    from edgefw.services.observer.scoring import Certificate, RoundScore
    from edgefw.services.observer.watch import Watch

log = logging.getLogger(__name__)

BESIDE = 1.0  # seconds between two looks whether there are new rounds to play without delays
MOST_BESIDE = 100  # of these at a time
LONGEST = 8_000_000  # bytes of what the helper says


class LivePage:
    """The page of one run; `admin` says where the broker's admin endpoint is, if there is one."""

    def __init__(
        self,
        setup: Setup,
        folder: RunFolder,
        machine: Machine,
        watch: Watch,
        admin: Callable[[], str | None],
    ) -> None:
        self._scenario, self._folder, self._machine, self._watch = setup.scenario, folder, machine, watch
        groups = grouped(setup.graph)
        self._groups = None if len(groups) == setup.n else groups
        self._concluded = False
        self._helper: Helper | None = None
        self._beside: asyncio.Task[None] | None = None
        self._gap: float | None = None
        self._story = Story(setup.scenario)
        self.app = self._make(Forward(admin))

    def _make(self, admin: Forward) -> PageApp:
        run = self._folder.path.resolve().name.replace(" ", "-")
        self._teller = Teller(lambda: self._story, run, self._groups, self._status)
        return PageApp(partial(about, self._scenario, live=True), self._teller, self._prepare, admin)

    async def start(self) -> None:
        """Start the helper that will play beside; gRPC is to have no threads yet: a fork troubles it."""
        if not installed():
            return
        path = str(self._folder.scenario_path)
        command = (sys.executable, "-m", "edgefw.services.observer.beside", path)
        try:
            self._helper = await self._machine.helper(command, partial(make_player, path), LONGEST)
        except OSError as error:
            log.warning("the cost of delays is not known: its helper cannot be started: %s", error)

    def restore(self) -> None:
        """Go on with what is on record."""
        if (self._folder.path / DATABASE).exists():
            self._story = read_story(self._folder, self._scenario, live=True)

    def take(self, rounds: Sequence[Sequence[Reported]], scores: Sequence[RoundScore]) -> None:
        """Take rounds that are complete and scored."""
        for reports, scored in zip(rounds, scores, strict=True):
            self._story.take_round(
                scored.global_loss,
                [report.arrivals for report in reports],
                [report.outstanding for report in reports],
            )

    def take_account(self, entries: Sequence[Entry]) -> None:
        """Take what the broker accounts for."""
        self._story.take_account(entries)

    def compare_with(self, certificate: Certificate) -> None:
        """Show regret against a fixed point from now on."""
        self._story.compare_with(certificate.losses)
        self._gap = certificate.comparator.gap if certificate.final else None

    def conclude(self) -> None:
        """Say that the run is over."""
        self._concluded = True

    def end_streams(self) -> None:
        """End all streams, after a last word."""
        self.app.close()

    async def close(self) -> None:
        """End the helper."""
        if self._beside is not None:
            await end_all([self._beside])
        if self._helper is not None:
            self._helper.kill()
            await self._helper.wait()

    def _status(self) -> dict[str, Any]:
        """Return how the run is now."""
        waited = {} if self._concluded else self._watch.awaited()
        late = [f"{name(who)} ({seconds:.0f} s)" for who, seconds in waited.items() if seconds >= OVERDUE]
        return {
            "phase": "over" if self._concluded else "running",
            "waiting": f"{', '.join(late[:5])}{' and others' if len(late) > 5 else ''}" or None,
            "gap": self._gap,
            "regret": None if self._story.compared else "the best fixed point is being looked for",
            "cost": "the same run without delays is being simulated",
        }

    async def _prepare(self) -> bytes:
        """Draw the network, which may take a while; from now on there is somebody to look at costs."""
        line = await self._machine.aside(prepared_line, self._scenario)
        if self._helper is not None:
            self._beside = asyncio.create_task(self._play_beside(self._helper), name="play beside")
        return line.encode()

    async def _play_beside(self, helper: Helper) -> None:
        """Let the helper play the rounds that all have played, with nobody late, while somebody looks."""
        lines = helper.lines()
        while True:
            story = self._story
            behind = self.app.looked_at and story.prompted < story.rounds
            if behind:
                await helper.ask(self._wanted(story))
                if (line := await anext(lines, None)) is None:
                    log.warning(
                        "the cost of delays is not known: its helper ended with %d", await helper.wait()
                    )
                    return
                story.take_prompt(np.array(json.loads(line)))
            if not (behind and self._played):
                await asyncio.sleep(BESIDE)

    def _wanted(self, story: Story) -> str:
        """Return what to ask of the helper; when all is played there is nothing to give way to."""
        rounds = min(story.rounds, story.prompted + MOST_BESIDE)
        return f"{rounds} {FREELY}" if self._played else f"{story.rounds}"

    @property
    def _played(self) -> bool:
        """Whether there are no more rounds to come."""
        return self._story.rounds >= self._scenario.algorithm.rounds
