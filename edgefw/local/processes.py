"""Which processes an emulated run is made of, and the command line of each."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.local.child import Command
from edgefw.local.folder import checkpoints_path, journal_path
from edgefw.records import RunFolder

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.local.ports import Places
    from edgefw.services.config import Place

OBSERVER = "observer"


@dataclass(frozen=True)
class Processes:
    """The services of a run by the order in which they start: each needs those before it."""

    observer: Command
    broker: Command
    agents: tuple[Command, ...]


def processes(path: Path, places: Places, *, stay: bool, memory: bool = False) -> Processes:
    """Return the services of the run in folder `path`; with `stay` they stay up when it is over.

    What the broker holds and what agents need to come back are kept in the run folder or, with `memory`,
    nowhere: one that is killed then has lost the run.
    """

    def command(
        name: str, place: Place, *arguments: str, lasting: bool = stay, rejoins: bool = False
    ) -> Command:
        words = [sys.executable, "-m", "edgefw", *arguments]
        words += ["--listen", place.address, "--metrics-port", str(place.metrics_port)]
        return Command(name, (*words, "--stay") if stay else tuple(words), place.address, lasting, rejoins)

    def remembering(i: int) -> tuple[str, ...]:
        folder = str(checkpoints_path(path) / f"agent-{i}")
        return ("--agent", str(i)) if memory else ("--agent", str(i), "--checkpoints", folder)

    keeps = ("--memory",) if memory else ("--journal", str(journal_path(path)))
    admin = ("--admin", f"{places.broker.host}:{places.admin}")
    scenario = ("--scenario", str(RunFolder(path).scenario_path))
    join = ("--join", places.observer.address)
    return Processes(
        observer=command(OBSERVER, places.observer, "observer", *scenario, "--out", str(path), rejoins=True),
        broker=command(
            "broker", places.broker, "broker", *join, *keeps, *admin, lasting=True, rejoins=not memory
        ),
        agents=tuple(
            command(f"agent-{i}", place, "agent", *remembering(i), *join, rejoins=not memory)
            for i, place in enumerate(places.agents)
        ),
    )
