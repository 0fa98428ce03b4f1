"""Which processes an emulated run is made of, and the command line of each."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.services.network.prepare import Places, config_path, scenario_path, shard_path
from edgefw.services.network.supervisor import Command

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.services.config import Place

OBSERVER = "observer"


@dataclass(frozen=True)
class Processes:
    """The services of a run by the order in which they start: each needs those before it."""

    broker: Command
    observer: Command
    agents: tuple[Command, ...]


def processes(path: Path, places: Places, *, stay: bool) -> Processes:
    """Return the services of the run in folder `path`; with `stay` they stay up when it is over."""
    scenario = ("--scenario", str(scenario_path(path)))
    broker = _command("broker", places.broker, ("broker", *scenario, *_listen(places.broker)), stay=stay)
    watch = ("observer", *scenario, "--out", str(path), *_listen(places.observer))
    return Processes(
        broker=Command(broker.name, broker.arguments, broker.address, lasting=True),
        observer=_command(OBSERVER, places.observer, watch, stay=stay),
        agents=tuple(_agent(path, i, place, stay=stay) for i, place in enumerate(places.agents)),
    )


def _agent(path: Path, i: int, place: Place, *, stay: bool) -> Command:
    files = ("--config", str(config_path(path, i)), "--shard", str(shard_path(path, i)))
    return _command(f"agent-{i}", place, ("agent", *files), stay=stay)


def _command(name: str, place: Place, arguments: tuple[str, ...], *, stay: bool) -> Command:
    last = ("--stay",) if stay else ()
    return Command(name, (sys.executable, "-m", "edgefw", *arguments, *last), place.address, lasting=stay)


def _listen(place: Place) -> tuple[str, ...]:
    return "--listen", place.address, "--metrics-port", str(place.metrics_port)
