"""How the processes of a run are: processor, memory, and how far each agent has come."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, NamedTuple

from edgefw.local.running import PROC
from edgefw.local.scrape import scrape
from edgefw.services.config import Place
from edgefw.telemetry.status import SHOWN, Status, learning

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.local.running import Running, Service
    from edgefw.local.scrape import Sample

LOOK = 1.0  # seconds between the two looks at what a process uses
_ENDED, _STOPPED = "ZX", "Tt"
_ALWAYS = "edgefw_build_info"  # every service that answers has it


class Usage(NamedTuple):
    """What a process has used so far, seconds of a processor and bytes of memory, and its state's letter."""

    seconds: float
    memory: int
    state: str


def status(run: Running, proc: Path = PROC, look: float = LOOK) -> list[Status]:
    """Return how every process of a run is; takes as long as a look."""
    return asyncio.run(_status(run, proc, look))


async def _status(run: Running, proc: Path, look: float) -> list[Status]:
    before = [usage(service.pid, proc) for service in run.services]
    *found, _ = await asyncio.gather(*map(_exported, run.services), asyncio.sleep(look, []))
    after = [usage(service.pid, proc) for service in run.services]
    return [
        _one(run, service, was, now, samples, look)
        for service, was, now, samples in zip(run.services, before, after, found, strict=True)
    ]


def _one(
    run: Running,
    service: Service,
    before: Usage | None,
    now: Usage | None,
    samples: list[Sample],
    look: float,
) -> Status:
    health = ("healthy" if samples else "no answer") if now else None
    cpu = (now.seconds - before.seconds) / look if now and before else None
    told = learning((sample.name, sample.value) for sample in samples)
    memory = now.memory if now else None
    return Status(service.name, _state(now), health, cpu, memory, told, str(run.folder))


async def _exported(service: Service) -> list[Sample]:
    host, _, port = service.options["listen"].rpartition(":")
    return await scrape(Place(host, int(port), int(service.options["metrics-port"])), {*SHOWN, _ALWAYS})


def _state(now: Usage | None) -> str:
    if now is None or now.state in _ENDED:
        return "ended"
    return "paused" if now.state in _STOPPED else "running"


def usage(pid: int, proc: Path = PROC) -> Usage | None:
    """Return what a process has used, None where it has ended."""
    try:
        text = (proc / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # its name, in brackets, may hold anything
    ticks = int(fields[11]) + int(fields[12])
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), int(fields[21]) * os.sysconf("SC_PAGE_SIZE"), fields[0])
