"""An agent's way to the observer: report every play, hear how it scored. Rounds never wait for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc

from edgefw.core.messages import Score
from edgefw.errors import RunOverError
from edgefw.transport.channel import GRPC
from edgefw.transport.codec import encode_array
from edgefw.transport.connection import Connection
from edgefw.transport.credentials import OBSERVER
from edgefw.transport.resending import ResendingStream
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1.observer_service_pb2_grpc import ObserverServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgefw.problem.feasible.base import Real
    from edgefw.transport.seam import Transport


SPOOL = 32_000_000  # bytes of reports that an agent keeps while they are not answered


class ObserverClient(ResendingStream[pb.ReportRequest]):
    """Keeps every report, by its round, until it has been scored.

    Not more of them than SPOOL: whoever reports is to ask for `room` first, and waits there while the
    observer is away for long.
    """

    what = "report"

    def __init__(
        self,
        address: str,
        agent: int,
        run_id: str,
        scored: Callable[[Score], None],
        transport: Transport = GRPC,
    ) -> None:
        hello = pb.ReportRequest(reporter=pb.Reporter(agent=agent, run_id=run_id))
        connection = Connection(OBSERVER, address, transport)
        super().__init__(connection, lambda channel: ObserverServiceStub(channel).Report(), hello)
        self._scored = scored
        self._bytes = 0  # of the reports that are kept
        self._room = asyncio.Event()
        self._room.set()

    @property
    def waiting(self) -> int:
        """How many reports wait for their scores."""
        return len(self._kept)

    @property
    def full(self) -> bool:
        """Whether so much waits that no more is to be reported."""
        return not self._room.is_set()

    async def room(self) -> None:
        """Wait until a play can be reported."""
        await self._room.wait()

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
        late: float | None = None,
    ) -> None:
        """Hand over a play to be reported."""
        play = pb.PlayReport(
            round=round_,
            point=encode_array(point),
            local_loss=local_loss,
            arrivals=arrivals,
            outstanding=outstanding,
            messages=messages,
            bytes=sent_bytes,
            late=late,
        )
        message = pb.ReportRequest(play=play)
        self._count(message.ByteSize())
        self._add(round_, message)

    def _let_go(self, message: pb.ReportRequest) -> None:
        self._count(-message.ByteSize())

    def _count(self, change: int) -> None:
        self._bytes += change
        if self._bytes < SPOOL:
            self._room.set()
        else:
            self._room.clear()

    def unanswered(self) -> dict[int, bytes]:
        """Return the reports that have not been scored, by round."""
        return {round_: request.SerializeToString() for round_, request in self._kept.items()}

    def report_again(self, unanswered: Mapping[int, bytes]) -> None:
        """Hand over what an earlier life of this agent has reported in vain."""
        for round_, request in unanswered.items():
            self._count(len(request))
            self._add(round_, pb.ReportRequest.FromString(request))

    def _take(self, answer: pb.ReportResponse) -> None:
        self._done_up_to(answer.round)
        regret = answer.regret if answer.HasField("regret") else None
        gap = answer.gap if answer.HasField("gap") else None
        self._scored(Score(answer.round, answer.global_loss, answer.cumulative_loss, regret, gap))

    def _refusal(self, error: grpc.aio.AioRpcError) -> RunOverError | None:
        """Return the error that ends an agent whose run is over. After any other refusal it tries again."""
        if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
            return RunOverError(f"the observer refuses reports: {error.details()}")
        return None
