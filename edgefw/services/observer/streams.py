"""The streams over which agents report and hear their scores. All they bring is checked before it is used."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.errors import WireError
from edgefw.records import content_hash, play_bytes
from edgefw.services.observer.ledger import Reported
from edgefw.transport.codec import decode_array
from edgefw.transport.connection import FIRST_MESSAGE
from edgefw.transport.race import end_all
from edgefw.transport.refusals import REPORTS, refusing
from edgefw.v1 import observer_service_pb2, observer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from edgefw.core.messages import Score
    from edgefw.problem.feasible.base import Real
    from edgefw.services.observer.attendance import Attendance
    from edgefw.telemetry.metrics import ObserverMetrics
    from edgefw.transport.refusals import Caller

log = logging.getLogger(__name__)

BACKLOG = 256  # scores that a stream has not yet taken before its next report is read
_LARGEST_COUNT = 2**63 - 1  # what a database keeps as an integer


@dataclass(frozen=True)
class Expected:
    """What reports have to fit: the run, its agents 0..n-1, the shape (C, m) and the norm of their plays."""

    run_id: str
    n: int
    shape: tuple[int, int]
    largest: float  # norm of a play


class ReportServicer(observer_service_pb2_grpc.ObserverServiceServicer):
    """Takes the reports of the agents of a run.

    `take` is handed every report and returns the score if it is known already; others come by `answer`. Who
    comes when the run is complete is told so at once, by the score of the last round (`last`). An agent
    counts as there for as long as its stream stands.
    """

    def __init__(
        self,
        expected: Expected,
        take: Callable[[Reported], Score | None],
        last: Callable[[int], Score | None],
        metrics: ObserverMetrics,
        join: Callable[[Any, Any], Awaitable[None]],
        attendance: Attendance,
        account: Callable[[Any, Any], Awaitable[None]],
    ) -> None:
        self._expected, self._take, self._last, self._metrics = expected, take, last, metrics
        self._join, self._attendance, self._account = join, attendance, account
        self._streams: dict[int, _ReportStream] = {}  # by agent

    async def Account(self, requests: AsyncIterator[Any], context: Any) -> None:  # noqa: N802 - gRPC's name
        """Take the broker's account."""
        await self._account(requests, context)

    async def Join(self, request: Any, context: Any) -> None:  # noqa: N802 - gRPC's name
        """Make a process a part of the run."""
        await self._join(request, context)

    async def Report(self, requests: AsyncIterator[Any], context: Any) -> None:  # noqa: N802 - gRPC's name
        """Serve one stream of one agent."""
        stream = _ReportStream()
        with stream.ends:  # also where the call is cancelled once more while its halves end
            async with refusing(context, REPORTS, self._refused) as caller:
                await self._serve(requests, context, stream, caller)

    def answer(self, agent: int, score: Score) -> None:
        """Tell an agent a score, if it is there to hear it."""
        if agent in self._streams:
            self._streams[agent].put(score)

    def close(self) -> None:
        """End all streams, after what they still have to say."""
        for stream in self._streams.values():
            stream.end()

    async def _serve(
        self, requests: AsyncIterator[Any], context: Any, stream: _ReportStream, caller: Caller
    ) -> None:
        reading = asyncio.create_task(self._read(requests, stream, caller))
        sending = asyncio.create_task(stream.send_all(context))
        try:
            await asyncio.wait({reading, sending}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
            await sending  # to its end: gRPC cannot send a status while an answer is being written
        finally:
            await end_all([reading, sending])

    async def _read(self, requests: AsyncIterator[Any], stream: _ReportStream, caller: Caller) -> None:
        try:
            await self._take_all(requests, stream, caller)
        except WireError as error:
            stream.end(error)
        else:
            stream.no_more_reports()

    async def _take_all(self, requests: AsyncIterator[Any], stream: _ReportStream, caller: Caller) -> None:
        stream.agent = self._welcome(await _first(requests))
        caller.speaks_as(stream.agent)
        if stream.agent in self._streams:
            self._streams[stream.agent].end(
                WireError("replaced", f"agent {stream.agent} has opened another stream")
            )
        self._streams[stream.agent] = stream
        stream.ends.callback(self._forget, stream)
        stream.ends.enter_context(self._attendance.call(stream.agent))
        if score := self._last(stream.agent):
            stream.put(score)
        async for request in requests:
            report = self._decode(stream.agent, request)
            stream.owed.add(report.round)
            if score := self._take(report):
                stream.put(score)
                await stream.room.wait()  # who repeats itself and does not listen is not listened to

    def _forget(self, stream: _ReportStream) -> None:
        if self._streams.get(stream.agent) is stream:  # another may have taken its place
            del self._streams[stream.agent]

    def _welcome(self, request: Any) -> int:
        if request is None or request.WhichOneof("content") != "reporter":
            raise WireError("missing", "the first message has to name the reporter")
        reporter, expected = request.reporter, self._expected
        if reporter.run_id != expected.run_id:
            raise WireError(
                "digest",
                f"agent {reporter.agent} runs scenario {reporter.run_id[:64]!r}, "
                f"the observer {expected.run_id!r}",
            )
        if reporter.agent >= expected.n:
            raise WireError("agent", f"there is no agent {reporter.agent}: agents are 0 to {expected.n - 1}")
        return int(reporter.agent)

    def _decode(self, agent: int, request: Any) -> Reported:
        if request.WhichOneof("content") != "play":
            raise WireError("missing", f"agent {agent} sent a message that is no play")
        play = request.play
        point = decode_array(play.point, self._expected.shape)
        _check_ranges(play, point, self._expected.largest)
        return Reported(
            agent=agent,
            round=play.round,
            point=point,
            hash=content_hash(play_bytes(point)),
            local_loss=play.local_loss,
            arrivals=_arrivals(play),
            outstanding=play.outstanding,
            messages=play.messages,
            wire_bytes=play.bytes,
            late=play.late if play.HasField("late") else None,
        )

    def _refused(self, _agent: int | None, error: WireError) -> None:
        self._metrics.rejected.labels(error.reason).inc()
        log.warning("refused: %s", error)


class _ReportStream:
    """One agent's stream: what it is to be told, and whether that was all."""

    def __init__(self) -> None:
        self.agent = -1  # until it has said who it is
        self.ends = ExitStack()  # what its end brings with it
        self.owed: set[int] = set()  # rounds reported and not yet answered
        self.room = asyncio.Event()  # while it has heard nearly all that it was told
        self.room.set()
        self._queue: asyncio.Queue[Score | WireError | None] = asyncio.Queue()
        self._reported_all = False

    def put(self, score: Score) -> None:
        """Tell a score, after those before it."""
        self.owed.discard(score.round)
        self._queue.put_nowait(score)
        if self._queue.qsize() >= BACKLOG:
            self.room.clear()
        self._end_if_done()

    def end(self, error: WireError | None = None) -> None:
        """End the stream, well or with a status."""
        self._queue.put_nowait(error)

    def no_more_reports(self) -> None:
        """End as soon as every report has been answered."""
        self._reported_all = True
        self._end_if_done()

    async def send_all(self, context: Any) -> None:
        """Write until the end; raises where that is an error."""
        while (item := await self._queue.get()) is not None:
            if isinstance(item, WireError):
                raise item
            await context.write(_response(item))
            if self._queue.qsize() < BACKLOG:
                self.room.set()

    def _end_if_done(self) -> None:
        if self._reported_all and not self.owed:
            self.end()


def _check_ranges(play: Any, point: Real, largest: float) -> None:
    """Refuse numbers that nobody could score or record."""
    if not math.isfinite(play.local_loss):
        raise WireError("not_finite", f"the local loss of round {play.round} is {play.local_loss}")
    if not (math.isfinite(play.late) and play.late >= 0):
        raise WireError("range", f"round {play.round} is said to have begun {play.late} s late")
    norm = float(np.linalg.norm(point.astype(np.float64)))  # a square of a float32 may be no float32
    if norm > largest:
        raise WireError("range", f"the play of round {play.round} has norm {norm:.3g}, above {largest:.3g}")
    if play.outstanding > play.round:
        raise WireError("range", f"{play.outstanding} feedbacks are outstanding after {play.round} rounds")
    if max(play.messages, play.bytes) > _LARGEST_COUNT:
        raise WireError("range", f"{play.messages} messages and {play.bytes} bytes cannot have been sent")


async def _first(requests: AsyncIterator[Any]) -> Any:
    """Return the first message of a stream, None where it ends without one."""
    try:
        async with asyncio.timeout(FIRST_MESSAGE):
            return await anext(requests, None)
    except TimeoutError:
        raise WireError("silence", f"no reporter is named within {FIRST_MESSAGE:g} s") from None


def _arrivals(play: Any) -> tuple[int, ...]:
    rounds = sorted(play.arrivals)
    if len(set(rounds)) < len(rounds) or (rounds and not 1 <= rounds[0] <= rounds[-1] < play.round):
        raise WireError(
            "arrivals",
            f"the arrivals of round {play.round} are {rounds[:8]}: distinct earlier rounds are expected",
        )
    return tuple(rounds)


def _response(score: Score) -> Any:
    return observer_service_pb2.ReportResponse(
        round=score.round,
        global_loss=score.global_loss,
        cumulative_loss=score.cumulative_loss,
        regret=score.regret,
        gap=score.gap,
    )
