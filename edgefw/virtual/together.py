"""All services of a run in one process, over memory: the same that run as processes and in containers."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgefw.local.ports import LOOPBACK, Places
from edgefw.services.agent import service as agent
from edgefw.services.broker import process as broker
from edgefw.services.broker.admin.app import AdminOptions
from edgefw.services.config import Place
from edgefw.services.observer import service as observer
from edgefw.transport.memory import MemoryNetwork
from edgefw.virtual.logs import SERVICE

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from edgefw.records import RunFolder
    from edgefw.services.machine import Machine

_ADMIN, _FIRST = 7070, 10_000  # ports of a network of their own: any will do


def memory_places(agents: int) -> Places:
    """Return where services listen that share a process; no port of this machine is taken."""
    observed, holding, *others = (Place(LOOPBACK, _FIRST + i, _FIRST + 5000 + i) for i in range(agents + 2))
    return Places(holding, observed, tuple(others), _ADMIN)


@dataclass(frozen=True)
class Together:
    """What the services of one run share; without a `journal` the broker keeps nothing on disk."""

    folder: RunFolder
    places: Places
    machine: Machine
    journal: Path | None = None
    network: MemoryNetwork = field(default_factory=MemoryNetwork)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self) -> None:
        """Run every service to its end; the broker goes last, for the others speak to it."""
        over = asyncio.Event()
        async with asyncio.TaskGroup() as services:
            start(services, "broker", self.broker(over))
            async with asyncio.TaskGroup() as lasting:
                start(lasting, "observer", self.observer())
                for i in range(len(self.places.agents)):
                    start(lasting, f"agent-{i}", self.agent(i))
            over.set()

    def observer(self) -> Coroutine[Any, Any, None]:
        """Return the life of the observer."""
        path, out = str(self.folder.scenario_path), self.folder.path
        config = observer.ObserverConfig(
            path, self.places.observer, out=out, transport=self.network, machine=self.machine
        )
        return observer.serve(config, self.stop)

    def broker(self, over: asyncio.Event) -> Coroutine[Any, Any, None]:
        """Return the life of the broker, until `over`."""
        place = self.places.broker
        options = broker.BrokerOptions(
            place,
            self.journal,
            AdminOptions(place.host, self.places.admin),
            transport=self.network,
            machine=self.machine,
            alone=False,
        )
        return broker.serve_joined(self.places.observer.address, place.address, options, over)

    def agent(self, i: int) -> Coroutine[Any, Any, None]:
        """Return the life of an agent."""
        place = self.places.agents[i]
        options = agent.AgentOptions(
            i, self.places.observer.address, place, place.address, transport=self.network
        )
        return agent.serve(options, self.stop)


def start(group: asyncio.TaskGroup, name: str, life: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start a service as a task; what it logs, and all that it starts, is under its name."""
    context = copy_context()
    context.run(SERVICE.set, name)
    return group.create_task(life, name=name, context=context)
