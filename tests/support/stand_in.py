"""A service for the supervisor's tests: `python stand_in.py NAME ADDRESS DIARY [TRAIT ...]`.

It writes what happens to it into the file DIARY, a line each, with the process id.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from edgefw.local import guard
from edgefw.services.runtime import run_service
from edgefw.transport.server import RpcServer

NAME, ADDRESS, DIARY, *TRAITS = sys.argv[1:]


def note(event: str, pid: int) -> None:
    with Path(DIARY).open("a", encoding="utf-8") as file:
        file.write(f"{event} {NAME} {pid}\n")


def write_summary() -> None:
    """Put down a summary where there is one to be written, as an observer does at the end."""
    for trait in TRAITS:
        if trait.startswith("summary="):
            ready_made = Path(trait.removeprefix("summary="))
            (Path(DIARY).parent / "run" / "summary.json").write_bytes(ready_made.read_bytes())


async def others_are_up() -> None:
    """Wait for those that have to be there first."""
    for trait in TRAITS:
        if trait.startswith("after="):
            noted = f"up {trait.removeprefix('after=')} "
            while noted not in Path(DIARY).read_text(encoding="utf-8"):  # noqa: ASYNC110, ASYNC240 - a file tells nobody
                await asyncio.sleep(0.02)


async def serve(stop: asyncio.Event) -> None:
    server = RpcServer()
    await server.start(ADDRESS)
    if "never-ready" not in TRAITS:
        await server.ready()
    if "stubborn" in TRAITS:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, note, "ignored", os.getpid())
    note("up", os.getpid())
    if "parent" in TRAITS:
        note("up", subprocess.Popen(["sleep", "100"]).pid)  # noqa: ASYNC220
    await others_are_up()
    if "dies" in TRAITS:
        await asyncio.sleep(0.5)
        os.write(1, b"something\nwent very wrong\n")
        os._exit(3)
    if "ends" in TRAITS:
        await asyncio.sleep(0.5)
        write_summary()
    if "ends" not in TRAITS or "stays" in TRAITS:
        await stop.wait()
        write_summary()
    await server.stop()
    note("down", os.getpid())


if __name__ == "__main__":
    guard.PATIENCE = 4.0
    guard.end_with_parent()
    if "slow-start" in TRAITS:
        os.write(1, b"still loading\n")
        signal.pause()
    sys.exit(run_service(NAME, serve))
