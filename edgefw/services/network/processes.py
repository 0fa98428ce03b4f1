"""Which processes an emulated run is made of, and the command line of each."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.services.network.prepare import Places, journal_path, scenario_path
from edgefw.services.network.supervisor import Command

if TYPE_CHECKING:
    from pathlib import Path

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
    keeps = ("--memory",) if memory else ("--journal", str(journal_path(path)))
    admin = ("--admin", f"{places.broker.host}:{places.admin}")
    join = ("--join", places.observer.address)
    holds = ("broker", *join, *_listen(places.broker), *keeps, *admin)
    broker = _command("broker", places.broker, holds, stay=stay)
    scenario = ("--scenario", str(scenario_path(path)))
    watch = ("observer", *scenario, "--out", str(path), *_listen(places.observer))
    return Processes(
        observer=_command(OBSERVER, places.observer, watch, stay=stay),
        broker=Command(broker.name, broker.arguments, broker.address, lasting=True),
        agents=tuple(
            _command(f"agent-{i}", place, ("agent", "--agent", str(i), *join, *_listen(place)), stay=stay)
            for i, place in enumerate(places.agents)
        ),
    )


def _command(name: str, place: Place, arguments: tuple[str, ...], *, stay: bool) -> Command:
    last = ("--stay",) if stay else ()
    return Command(name, (sys.executable, "-m", "edgefw", *arguments, *last), place.address, lasting=stay)


def _listen(place: Place) -> tuple[str, ...]:
    return "--listen", place.address, "--metrics-port", str(place.metrics_port)
