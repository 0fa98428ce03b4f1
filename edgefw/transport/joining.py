"""How a process becomes a part of a run: it asks the observer, and is told all that it has to know."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import grpc

from edgefw.errors import EdgefwError
from edgefw.transport.backoff import Backoff
from edgefw.transport.channel import open_channel
from edgefw.v1 import observer_service_pb2, observer_service_pb2_grpc

log = logging.getLogger(__name__)

_AGAIN = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,  # by an observer that is stopping
)


class JoinError(EdgefwError):
    """The observer will not have this process in its run."""


@dataclass(frozen=True)
class Joined:
    """What a process is told: which run, its configuration and, an agent, its samples."""

    identity: str
    configuration: bytes
    samples: bytes


async def join(observer: str, address: str, metrics_port: int, agent: int | None = None) -> Joined:
    """Join the run of the observer at `observer`; `address` is where others find this process.

    Waits for as long as the others take to join: the observer's log says who is missing.
    """
    request = observer_service_pb2.JoinRequest(agent=agent, address=address, metrics_port=metrics_port)
    backoff = Backoff()
    while True:
        try:
            async with open_channel(observer) as channel:
                return await _ask(observer_service_pb2_grpc.ObserverServiceStub(channel), request)
        except grpc.aio.AioRpcError as error:
            if error.code() not in _AGAIN:
                raise JoinError(
                    f"the observer at {observer} refuses: {error.code().name}: {error.details()}"
                ) from None
            log.info("waiting to join the observer at %s: %s", observer, error.code().name)
        await backoff.pause()


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
