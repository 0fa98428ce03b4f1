"""How a process becomes a part of a run: it asks the observer, and is told all that it has to know."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.errors import EdgefwError
from edgefw.transport.channel import GRPC
from edgefw.transport.connection import Connection
from edgefw.v1 import observer_service_pb2, observer_service_pb2_grpc

if TYPE_CHECKING:
    import grpc

    from edgefw.transport.seam import Transport


class JoinError(EdgefwError):
    """The observer will not have this process in its run."""


@dataclass(frozen=True)
class Joined:
    """What a process is told: which run, its configuration and, an agent, its samples."""

    identity: str
    configuration: bytes
    samples: bytes


async def join(
    observer: str,
    address: str,
    metrics_port: int,
    agent: int | None = None,
    transport: Transport = GRPC,
) -> Joined:
    """Join the run of the observer at `observer`; `address` is where others find this process.

    Waits for as long as the others take to join: the observer's log says who is missing.
    """
    request = observer_service_pb2.JoinRequest(agent=agent, address=address, metrics_port=metrics_port)

    def refusal(error: grpc.aio.AioRpcError) -> JoinError:
        return JoinError(f"the observer at {observer} refuses: {error.code().name}: {error.details()}")

    async def once(channel: grpc.aio.Channel) -> Joined:
        return await _ask(observer_service_pb2_grpc.ObserverServiceStub(channel), request)

    async with Connection("the observer", observer, transport) as connection:
        return await connection.insist("join", refusal, once)


async def _ask(
    stub: observer_service_pb2_grpc.ObserverServiceStub, request: observer_service_pb2.JoinRequest
) -> Joined:
    joined: observer_service_pb2.Joined | None = None
    pieces: list[bytes] = []
    async for answer in stub.Join(request):
        if answer.WhichOneof("content") == "joined":
            joined = answer.joined
        else:
            pieces.append(answer.samples)
        await asyncio.sleep(0)
    if joined is None:
        raise JoinError("the observer ended the call without an answer: is it of the same version?")
    return Joined(joined.identity, joined.configuration, b"".join(pieces))
