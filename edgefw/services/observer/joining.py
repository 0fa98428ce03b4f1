"""Who is part of a run: everyone says where it can be reached, and is told the rest when all have come."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.scenario.load import dump
from edgefw.services.config import pack_shard
from edgefw.services.network.prepare import agent_config, shard
from edgefw.v1 import observer_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.scenario.setup import Setup

log = logging.getLogger(__name__)

REMIND = 10.0  # seconds between two lines that say who is missing
PIECE = 1 << 20  # bytes of samples in a message

BROKER = None
Who = int | None
"""An agent, or the broker."""


class Joining:
    """The members of one run; `again` is told when one that has played comes anew, having forgotten it."""

    def __init__(self, setup: Setup, identity: str, again: Callable[[], None] | None) -> None:
        self._setup, self._identity, self._again = setup, identity, again
        self._addresses: dict[Who, str] = {}
        self._requests: dict[Who, pb.JoinRequest] = {}
        self._metrics: dict[Who, str] = {}  # where each one's metrics are
        self._news = asyncio.Condition()
        self.started = False  # whether somebody has played
        self._ended = False  # ... and the run has been ended because somebody forgot it

    async def serve(self, request: pb.JoinRequest, context: Any) -> None:
        """Answer one process."""
        who = request.agent if request.HasField("agent") else BROKER
        if who is not BROKER and who >= self._setup.n:
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"there is no agent {who}: agents are 0 to {self._setup.n - 1}",
            )
        if not request.address:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "an address is missing: host:port")
        if who is not BROKER and self.started:
            await self._refuse(who, context)
        await self._enter(who, request)
        if who is BROKER:
            await context.write(self._joined(dump(self._setup.scenario).encode()))
            return
        try:
            await self._all_there(who)
        except asyncio.CancelledError:  # it has gone: others are not to be sent to where it was
            self._leave(who, request)
            raise
        await self._send(who, context)

    async def _refuse(self, who: int, context: Any) -> None:
        """Turn away an agent that comes anew to a run that has begun."""
        if self._again is None:
            await context.abort(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"agent {who} comes to a run that has begun: start the run again",
            )
        else:
            if not self._ended:
                log.warning("agent %d has lost the run: everyone starts anew", who)
            self._ended = True
            self._again()
        await context.abort(grpc.StatusCode.ABORTED, "the run starts anew: join again")

    def targets(self) -> list[dict[str, Any]]:
        """Return where the metrics of all that have joined are, as Prometheus' HTTP discovery takes it."""
        return [
            {"targets": [place], "labels": {"job": "broker" if who is BROKER else "agent"}}
            for who, place in self._metrics.items()
        ]

    async def _enter(self, who: Who, request: pb.JoinRequest) -> None:
        address = request.address
        async with self._news:
            if self._addresses.get(who) != address:
                log.info("%s joins at %s", "the broker" if who is BROKER else f"agent {who}", address)
            self._requests[who], self._addresses[who] = request, address
            self._metrics[who] = f"{address.rpartition(':')[0]}:{request.metrics_port}"
            self._news.notify_all()

    def _leave(self, who: int, request: pb.JoinRequest) -> None:
        if self._requests[who] is request:  # else it has come again meanwhile
            del self._addresses[who], self._metrics[who]

    def _missing(self) -> list[str]:
        everyone: list[Who] = [BROKER, *range(self._setup.n)]
        return ["broker" if who is BROKER else str(who) for who in everyone if who not in self._addresses]

    async def _all_there(self, who: int) -> None:
        async with self._news:
            while missing := self._missing():
                try:
                    async with asyncio.timeout(REMIND):
                        await self._news.wait()
                except TimeoutError:
                    log.warning("agent %d waits for %s to join", who, ", ".join(missing))

    async def _send(self, who: int, context: Any) -> None:
        broker = self._addresses[BROKER]
        peers = {j: self._addresses[j] for j in self._setup.graph.neighbours(who)}
        config = agent_config(self._setup, who, self._identity, peers, broker)
        await context.write(self._joined(config.to_json().encode()))
        samples = await asyncio.to_thread(self._samples, who)
        for begin in range(0, len(samples), PIECE):
            await context.write(pb.JoinResponse(samples=bytes(samples[begin : begin + PIECE])))

    def _samples(self, who: int) -> memoryview:
        index, data = shard(self._setup, who), self._setup.dataset
        return pack_shard(data.features[index], data.labels[index])

    def _joined(self, configuration: bytes) -> pb.JoinResponse:
        return pb.JoinResponse(joined=pb.Joined(identity=self._identity, configuration=configuration))
