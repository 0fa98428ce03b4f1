"""An agent's way to the observer: report every play, hear how it scored. Rounds never wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc

from edgefw.core.messages import Score
from edgefw.errors import RunOverError
from edgefw.transport.channel import GRPC
from edgefw.transport.codec import encode_array
from edgefw.transport.connection import Connection
from edgefw.transport.resending import ResendingStream
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1.observer_service_pb2_grpc import ObserverServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgefw.problem.feasible.base import Real
    from edgefw.transport.seam import Transport


class ObserverClient(ResendingStream[pb.ReportRequest]):
    """Keeps every report, by its round, until it has been scored."""

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
        connection = Connection("the observer", address, transport)
        super().__init__(connection, lambda channel: ObserverServiceStub(channel).Report(), hello)
        self._scored = scored

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
        self._add(round_, pb.ReportRequest(play=play))

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
