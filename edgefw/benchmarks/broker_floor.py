"""What taking in feedback costs at least: the same bytes on the same disk, and over bare streams."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any

import grpc
import uvloop

from edgefw.benchmarks import bare_echo
from edgefw.benchmarks.broker import AGENTS, IN_FLIGHT, PAYLOAD
from edgefw.benchmarks.measure import UnitCost
from edgefw.benchmarks.processor import own_seconds
from edgefw.local.ports import loopback_places

if TYPE_CHECKING:
    from pathlib import Path

START_SECONDS = 60.0


def append_cost(folder: Path, seconds: float) -> UnitCost:
    """Return what a feedback costs that is appended to a file; IN_FLIGHT of them share an fsync."""
    batch = PAYLOAD * IN_FLIGHT
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        begin, used, count = monotonic(), process_time(), 0
        while monotonic() - begin < seconds:
            file.write(batch)
            file.flush()
            os.fsync(file.fileno())
            count += IN_FLIGHT
        return UnitCost((monotonic() - begin) / count, (process_time() - used) / count)


def echo_cost(seconds: float) -> UnitCost:
    """Return what a message costs, with the processor time of the server alone, IN_FLIGHT under way."""
    with loopback_places(0) as places:
        address = places.broker.address
        with subprocess.Popen([sys.executable, "-m", "edgefw.benchmarks.bare_echo", address]) as server:  # noqa: S603
            try:
                return uvloop.run(_echo(address, server.pid, seconds))
            finally:
                server.kill()


async def _echo(address: str, server: int, seconds: float) -> UnitCost:
    async with grpc.aio.insecure_channel(address) as channel:
        calls = [channel.stream_stream(bare_echo.PATH)(wait_for_ready=True) for _ in range(AGENTS)]
        async with asyncio.timeout(START_SECONDS):
            for call in calls:
                await _once(call)
        used, begin = own_seconds(server), monotonic()
        deepest = -(-IN_FLIGHT // AGENTS)
        counts = await asyncio.gather(*(_keep_asking(call, deepest, begin + seconds) for call in calls))
        elapsed, count = monotonic() - begin, sum(counts)
        return UnitCost(elapsed / count, (own_seconds(server) - used) / count)


async def _once(call: Any) -> None:
    await call.write(PAYLOAD)
    await call.read()


async def _keep_asking(call: Any, under_way: int, end: float) -> int:
    """Keep so many messages of a stream under way; return how many were answered."""
    for _ in range(under_way):
        await call.write(PAYLOAD)
    count = 0
    while monotonic() < end:
        await call.read()
        await call.write(PAYLOAD)
        count += 1
    for _ in range(under_way):
        await call.read()
    return count + under_way
