"""Which processes an emulated run is made of, and the command line of each."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.local.folder import journal_path
from edgefw.local.supervisor import Command
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

    The broker keeps what it holds in the run folder or, with `memory`, nowhere.
    """

    def command(name: str, place: Place, *arguments: str, lasting: bool = stay) -> Command:
        words = [sys.executable, "-m", "edgefw", *arguments]
        words += ["--listen", place.address, "--metrics-port", str(place.metrics_port)]
        return Command(name, (*words, "--stay") if stay else tuple(words), place.address, lasting)

    keeps = ("--memory",) if memory else ("--journal", str(journal_path(path)))
    admin = ("--admin", f"{places.broker.host}:{places.admin}")
    scenario = ("--scenario", str(RunFolder(path).scenario_path))
    join = ("--join", places.observer.address)
    return Processes(
        observer=command(OBSERVER, places.observer, "observer", *scenario, "--out", str(path)),
        broker=command("broker", places.broker, "broker", *join, *keeps, *admin, lasting=True),
        agents=tuple(
            command(f"agent-{i}", place, "agent", "--agent", str(i), *join)
            for i, place in enumerate(places.agents)
        ),
    )
