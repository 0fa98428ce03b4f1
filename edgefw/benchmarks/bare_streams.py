"""A process that exchanges messages with its neighbours over bare gRPC streams, and learns nothing: a floor.

    python -m edgefw.benchmarks.bare_streams '{"agent": 0, ...}'

It is what an agent could cost at least, with the same graph and the same messages: one stream an edge, which
the lower id opens; in every exchange a message to all neighbours, then one from each. It knows no Hello, no
checks, no metrics and no reconnecting. The last line that it prints is what its rounds took.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import uvloop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_SERVICE, _METHOD = "bare", "Exchange"


@dataclass(frozen=True)
class Bare:
    """What one process is told; `messages` is a folder with the messages of a round, a file each."""

    agent: int
    addresses: list[str]  # of all agents, by id
    neighbours: list[int]
    messages: str
    warm_up: int  # rounds before those that are measured
    rounds: int

    def to_json(self) -> str:
        """Return it as an argument of the process."""
        return json.dumps(asdict(self))


class BareAgent:
    """One process: its end of every edge, once all stand."""

    def __init__(self, told: Bare) -> None:
        self._told = told
        self._messages = [path.read_bytes() for path in sorted(Path(told.messages).iterdir())]
        self._streams: dict[int, Any] = {}  # by neighbour: a call, or the context of one
        self._all_there, self._over = asyncio.Event(), asyncio.Event()

    async def run(self) -> dict[str, float]:
        """Exchange all messages; return the seconds that the measured rounds took."""
        told, server = self._told, grpc.aio.server()
        handler = grpc.stream_stream_rpc_method_handler(self._accept)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {_METHOD: handler}),))
        server.add_insecure_port(told.addresses[told.agent])
        await server.start()
        channels = [grpc.aio.insecure_channel(told.addresses[j]) for j in told.neighbours if j > told.agent]
        for j, channel in zip([j for j in told.neighbours if j > told.agent], channels, strict=True):
            call: Any = channel.stream_stream(f"/{_SERVICE}/{_METHOD}")(
                metadata=(("agent", str(told.agent)),), wait_for_ready=True
            )
            await self._stands(j, call)
        await self._all_there.wait()
        taken = await self._rounds()
        self._over.set()
        for channel in channels:
            await channel.close()
        await server.stop(None)
        return taken

    async def _accept(self, _requests: AsyncIterator[bytes], context: Any) -> None:
        await self._stands(int(dict(context.invocation_metadata())["agent"]), context)
        await self._over.wait()

    async def _stands(self, neighbour: int, stream: Any) -> None:
        self._streams[neighbour] = stream
        if len(self._streams) == len(self._told.neighbours):
            self._all_there.set()

    async def _rounds(self) -> dict[str, float]:
        streams = [self._streams[j] for j in self._told.neighbours]
        begin = 0.0, 0.0
        for t in range(self._told.warm_up + self._told.rounds):
            if t == self._told.warm_up:
                begin = time.monotonic(), time.process_time()
            for message in self._messages:
                for stream in streams:
                    await stream.write(message)
                for stream in streams:
                    await stream.read()
        return {"wall": time.monotonic() - begin[0], "cpu": time.process_time() - begin[1]}


def main() -> None:
    """Run the process that the first argument describes."""
    told = Bare(**json.loads(sys.argv[1]))
    print(json.dumps(uvloop.run(BareAgent(told).run())))  # noqa: T201 - to who started it


if __name__ == "__main__":
    main()
