"""How a process becomes a part of a run: it asks the observer, and is told all that it has to know."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc

from edgefw.errors import EdgefwError
from edgefw.transport.channel import GRPC
from edgefw.transport.connection import Connection
from edgefw.transport.credentials import OBSERVER
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1.observer_service_pb2_grpc import ObserverServiceStub

if TYPE_CHECKING:
    from edgefw.transport.seam import Transport


class JoinError(EdgefwError):
    """The observer will not have this process in its run."""


class CompleteError(JoinError):
    """The run is over: nobody needs this process any more."""


@dataclass(frozen=True)
class Joined:
    """What a process is told when it joins: the run, its configuration and, for an agent, its samples."""

    run_id: str
    configuration: bytes
    samples: bytes


async def join(
    observer: str,
    address: str,
    metrics_port: int,
    agent: int | None = None,
    transport: Transport = GRPC,
    admin: str = "",
    remembered: str | None = None,
) -> Joined:
    """Join the run of the observer at `observer`; `address` is where others find this process.

    `admin` is where a broker's admin endpoint is, if it has one; `remembered`, the run that an agent was in
    and can go on with.

    Waits for as long as the others take to join: the observer's log says who is missing.
    """
    request = pb.JoinRequest(
        agent=agent, address=address, metrics_port=metrics_port, admin=admin, remembered=remembered or ""
    )

    def refusal(error: grpc.aio.AioRpcError) -> JoinError:
        kind = CompleteError if error.code() is grpc.StatusCode.OUT_OF_RANGE else JoinError
        return kind(f"the observer at {observer} refuses: {error.code().name}: {error.details()}")

    async def ask(channel: grpc.aio.Channel) -> Joined:
        joined: pb.Joined | None = None
        pieces: list[bytes] = []
        async for answer in ObserverServiceStub(channel).Join(request):
            if answer.WhichOneof("content") == "joined":
                joined = answer.joined
            else:
                pieces.append(answer.samples)
            await asyncio.sleep(0)
        if joined is None:
            raise JoinError("the observer ended the call without an answer: is it of the same version?")
        return Joined(joined.run_id, joined.configuration, b"".join(pieces))

    async with Connection(OBSERVER, observer, transport) as connection:
        return await connection.insist("join", refusal, ask)
