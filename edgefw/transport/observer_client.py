"""An agent's way to the observer: report every play, hear how it scored. Rounds never wait for it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.core.messages import Score
from edgefw.errors import RunOverError
from edgefw.transport.channel import GRPC
from edgefw.transport.codec import encode_array
from edgefw.transport.connection import Attempts, Connection, ending, while_open
from edgefw.transport.race import race
from edgefw.v1 import observer_service_pb2, observer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgefw.problem.feasible.base import Real
    from edgefw.transport.seam import Transport


class ObserverClient:
    """Keeps every report until it has been scored, and sends it again when the observer has been away."""

    def __init__(
        self,
        address: str,
        agent: int,
        digest: str,
        scored: Callable[[Score], None],
        transport: Transport = GRPC,
    ) -> None:
        self._connection = Connection("the observer", address, transport)
        self._agent, self._digest, self._scored = agent, digest, scored
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
        reporter = observer_service_pb2.Reporter(agent=self._agent, scenario_digest=self._digest)
        async with self._connection as connection:
            async for attempt in connection.attempts("report", _refusal):
                async with attempt as channel:
                    stub = observer_service_pb2_grpc.ObserverServiceStub(channel)
                    async with ending(stub.Report()) as call:
                        await call.write(observer_service_pb2.ReportRequest(reporter=reporter))
                        await race(self._read_all(call, attempt), while_open(self._write_all(call)))

    async def _read_all(self, call: Any, attempt: Attempts) -> None:
        while (answer := await call.read()) is not grpc.aio.EOF:
            attempt.worked()
            self._take(answer)

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


def _refusal(error: grpc.aio.AioRpcError) -> RunOverError | None:
    """Return what ends an agent: that its run is over. No other refusal of a report is worth a play."""
    if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
        return RunOverError(f"the observer refuses reports: {error.details()}")
    return None
