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
from idle_clock import IdleLoop
from threadpoolctl import threadpool_limits
from waiting import PATIENCE

from edgefw.http.listening import listen_tcp
from edgefw.local.folder import prepare
from edgefw.local.ports import loopback_places
from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve
from edgefw.services.machine import InlineMachine
from edgefw.transport.memory import MemoryNetwork
from edgefw.virtual.together import Together, memory_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from edgefw.http.listening import Connected, Listening
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
        asyncio.run(_serve(folder, memory_places(setup.n), machine or InlineMachine()))
    return folder


async def _serve(folder: RunFolder, places: Places, machine: Machine) -> None:
    """Run every service to its end; the broker has a journal, as it has in processes."""
    together = Together(folder, places, machine, folder.path.with_name("journal.sqlite"))
    await asyncio.wait_for(together.serve(), 4 * PATIENCE)


class _PagesOnSockets(MemoryNetwork):
    """Services call each other in memory; a browser reaches them over TCP."""

    async def listen_http(self, connected: Connected, host: str, port: int) -> Listening:
        return await listen_tcp(connected, host, port)


@dataclass(frozen=True)
class Living:
    """A run that goes on in a thread of this process: where its page is, and its folder."""

    url: str
    folder: RunFolder


@contextmanager
def living_together(path: Path, fields: Mapping[str, object]) -> Iterator[Living]:
    """Run a scenario while the block runs, with its page and its broker's admin endpoint on real sockets.

    Time passes only while all services wait: they keep their pace on however slow a machine.
    """
    changes = [f"{key}={value}" for key, value in {**SMALL, **fields}.items()]
    setup = resolve(load("default", changes))
    folder, loop = prepare(setup, path), IdleLoop()
    journal = folder.path.with_name("journal.sqlite")
    with loopback_places(setup.n) as places, ThreadPoolExecutor(1) as thread, threadpool_limits(1):
        together = Together(folder, places, loop.machine(), journal, _PagesOnSockets())
        over = thread.submit(loop.run_until_complete, together.serve())
        try:
            yield Living(f"http://127.0.0.1:{places.observer.metrics_port}/", folder)
        finally:
            loop.call_soon_threadsafe(together.stop.set)
            over.result(4 * PATIENCE)
            loop.close()
