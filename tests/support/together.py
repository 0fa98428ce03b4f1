"""A run of the real agents, broker and observer in this process: what they play needs no process each.

What only processes can show (start, stop, signals, kills) is for `emulated`.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulated import SMALL
from threadpoolctl import threadpool_limits
from waiting import PATIENCE

from edgefw.local.folder import prepare
from edgefw.local.ports import loopback_places
from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve
from edgefw.services.agent import service as agent
from edgefw.services.broker import process as broker
from edgefw.services.broker.admin.app import AdminOptions
from edgefw.services.machine import REAL, InlineMachine
from edgefw.services.observer import service as observer
from edgefw.transport.memory import MemoryNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from edgefw.local.ports import Places
    from edgefw.records import RunFolder
    from edgefw.services.machine import Machine


def run_together(
    path: Path,
    scenario: str = "default",
    fields: Mapping[str, object] | None = None,
    machine: Machine | None = None,
) -> RunFolder:
    """Run a scenario to the end, into the folder `path`; `fields` are those that differ from `SMALL`.

    Without another machine there are no threads and no process for the comparator either.
    """
    changes = [f"{key}={value}" for key, value in {**SMALL, **(fields or {})}.items()]
    setup = resolve(load(scenario, changes))
    folder = prepare(setup, path)
    with threadpool_limits(1):  # as processes have it: the plays are to be the same, bit for bit
        asyncio.run(asyncio.wait_for(_serve_all(folder, setup.n, machine or InlineMachine()), 4 * PATIENCE))
    return folder


@dataclass(frozen=True)
class Living:
    """A run that goes on in a thread of this process: where its page is, and its folder."""

    url: str
    folder: RunFolder


@contextmanager
def living_together(path: Path, fields: Mapping[str, object]) -> Iterator[Living]:
    """Run a scenario while the block runs, with its page and its broker's admin endpoint on real sockets."""
    changes = [f"{key}={value}" for key, value in {**SMALL, **fields}.items()]
    setup = resolve(load("default", changes))
    folder, loop = prepare(setup, path), asyncio.new_event_loop()
    ends = asyncio.Event()
    with loopback_places(setup.n) as places, ThreadPoolExecutor(1) as thread:
        work = _serve(folder, places, REAL, ends)  # the search for a fixed point holds nobody up
        over = thread.submit(loop.run_until_complete, asyncio.wait_for(work, 4 * PATIENCE))
        try:
            yield Living(f"http://127.0.0.1:{places.observer.metrics_port}/", folder)
        finally:
            loop.call_soon_threadsafe(ends.set)
            over.result()
            loop.close()


async def _serve_all(folder: RunFolder, agents: int, machine: Machine) -> None:
    """Run every service to its end, none of them on a socket but for its metrics."""
    with loopback_places(agents) as places:
        await _serve(folder, places, machine, asyncio.Event())


async def _serve(folder: RunFolder, places: Places, machine: Machine, stop: asyncio.Event) -> None:
    network, over = MemoryNetwork(), asyncio.Event()
    observed, own = places.observer.address, places.broker
    seen = observer.ObserverConfig(
        str(folder.scenario_path), places.observer, out=folder.path, transport=network, machine=machine
    )
    admin = AdminOptions(own.host, places.admin)
    journal = folder.path.with_name("journal.sqlite")
    holding = broker.BrokerOptions(own, journal, admin, transport=network, machine=machine, alone=False)
    async with asyncio.TaskGroup() as services:
        services.create_task(broker.serve_joined(observed, own.address, holding, over))
        async with asyncio.TaskGroup() as lasting:
            lasting.create_task(observer.serve(seen, stop))
            for i, place in enumerate(places.agents):
                options = agent.AgentOptions(i, observed, place, place.address, transport=network)
                lasting.create_task(agent.serve(options, stop))
        over.set()
