"""An agent's way to the observer: report every play, hear how it scored. Rounds never wait for it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.core.messages import Score
from edgefw.errors import RunOverError
from edgefw.transport.backoff import Backoff
from edgefw.transport.channel import open_channel
from edgefw.transport.codec import encode_array
from edgefw.v1 import observer_service_pb2, observer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgefw.problem.feasible.base import Real

log = logging.getLogger(__name__)


class ObserverClient:
    """Keeps every report until it has been scored, and sends it again when the observer has been away."""

    def __init__(self, address: str, agent: int, digest: str, scored: Callable[[Score], None]) -> None:
        self._address, self._agent, self._digest, self._scored = address, agent, digest, scored
        self._unscored: deque[Any] = deque()  # PlayReport messages, by round
        self._news = asyncio.Event()
        self._all_scored = asyncio.Event()
        self._all_scored.set()

    def report(
        self,
        round_: int,
        point: Real,
        *,
        local_loss: float,
        arrivals: Sequence[int],
        outstanding: int,
        messages: int,
        sent_bytes: int,
    ) -> None:
        """Hand over a play to be reported."""
        message = observer_service_pb2.PlayReport(
            round=round_,
            point=encode_array(point),
            local_loss=local_loss,
            arrivals=arrivals,
            outstanding=outstanding,
            messages=messages,
            bytes=sent_bytes,
        )
        self._unscored.append(message)
        self._all_scored.clear()
        self._news.set()

    async def settled(self) -> None:
        """Wait until every report has been scored."""
        await self._all_scored.wait()

    async def run(self) -> None:
        """Report for as long as the agent lives."""
        backoff = Backoff()
        async with open_channel(self._address) as channel:
            stub = observer_service_pb2_grpc.ObserverServiceStub(channel)
            while True:
                call = stub.Report()
                try:
                    await self._converse(call)
                except grpc.aio.AioRpcError as error:
                    if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
                        raise RunOverError(f"the observer refuses reports: {error.details()}") from None
                    log.warning("observer at %s: %s: %s", self._address, error.code().name, error.details())
                except asyncio.InvalidStateError:
                    pass  # the call ended while it was written to: the next read would have said so
                finally:
                    call.cancel()
                await backoff.pause()

    async def _converse(self, call: Any) -> None:
        reporter = observer_service_pb2.Reporter(agent=self._agent, scenario_digest=self._digest)
        await call.write(observer_service_pb2.ReportRequest(reporter=reporter))
        writer = asyncio.create_task(self._write_all(call))
        try:
            while (answer := await call.read()) is not grpc.aio.EOF:
                self._take(answer)
        finally:
            writer.cancel()

    async def _write_all(self, call: Any) -> None:
        cursor = 0
        while True:
            self._news.clear()
            for message in list(self._unscored):
                if message.round > cursor:
                    await call.write(observer_service_pb2.ReportRequest(play=message))
                    cursor = message.round
            await self._news.wait()

    def _take(self, answer: Any) -> None:
        while self._unscored and self._unscored[0].round <= answer.round:
            self._unscored.popleft()
        regret = answer.regret if answer.HasField("regret") else None
        gap = answer.gap if answer.HasField("gap") else None
        self._scored(Score(answer.round, answer.global_loss, answer.cumulative_loss, regret, gap))
        if not self._unscored:
            self._all_scored.set()
