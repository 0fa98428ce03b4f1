"""What comes over a stream of reports is checked first: a mistake ends that stream alone, with its reason."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
import playback
import pytest
from prometheus_client import CollectorRegistry

from edgefw.core.messages import Play, Score
from edgefw.services.observer import streams
from edgefw.services.observer.attendance import Attendance
from edgefw.services.observer.ledger import Ledger, Reported
from edgefw.services.observer.streams import BACKLOG, Expected, ReportServicer
from edgefw.telemetry.metrics import ObserverMetrics
from edgefw.transport.codec import encode_array, encode_tensor
from edgefw.transport.memory import MemoryNetwork
from edgefw.transport.memory_call import ROOM
from edgefw.transport.server import RpcServer
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1 import observer_service_pb2_grpc, tensor_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

SHAPE = (2, 3)
LARGEST = 1000.0
RUN_ID = "digest/run"
Status = grpc.StatusCode


class Desk:
    """A servicer in front of a ledger, without the rest of an observer: answers when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0
        self.ledger, self.registry = Ledger(2, 5, 24), CollectorRegistry()
        metrics = ObserverMetrics(self.registry)
        self.attendance = Attendance(2, lambda: self.now)
        expected, calls = Expected(RUN_ID, 2, SHAPE, LARGEST), (self.join, self.attendance, self.join)
        self.last: Score | None = None
        self.servicer = ReportServicer(expected, self.take, lambda _: self.last, metrics, *calls)
        self.taken: list[Reported] = []
        self.calls = 0

    async def join(self, _request: Any, context: Any) -> None:
        await context.abort(Status.UNIMPLEMENTED, "nobody joins here")

    def take(self, report: Reported) -> Score | None:
        self.calls += 1
        if self.ledger.take(report):
            self.taken.append(report)
        return Score(report.round, 1.5, 2.5, None, None)

    def rejected(self, reason: str) -> float | None:
        name = "edgefw_network_reports_rejected_total"
        return self.registry.get_sample_value(name, {"reason": reason})


@asynccontextmanager
async def desk() -> AsyncIterator[tuple[Desk, Any]]:
    one, server = Desk(), RpcServer()

    def add(grpc_server: Any) -> None:
        observer_service_pb2_grpc.add_ObserverServiceServicer_to_server(one.servicer, grpc_server)

    port = await server.start("127.0.0.1:0", add)
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield one, channel
    finally:
        one.servicer.close()
        await server.stop()


def report(round_: int, **changes: Any) -> Any:
    point = np.full(SHAPE, round_, dtype=np.float32)
    return playback.play_report(
        playback.Played(Play(round_, point, [point]), 0.25, (), 1, 7 * round_), **changes
    )


def test_a_report_is_taken_with_all_that_it_says() -> None:
    async def run() -> Reported:
        async with desk() as (one, channel):
            reporter = await playback.Reporter(channel, 1, RUN_ID).open()
            await reporter.report(report(1), report(2, arrivals=[1], outstanding=2))
            answers = await reporter.answers(2)
            assert [(a.round, a.global_loss, a.cumulative_loss) for a in answers] == [
                (1, 1.5, 2.5),
                (2, 1.5, 2.5),
            ]
            assert not answers[0].HasField("regret")
            assert not answers[0].HasField("gap")
            return one.taken[1]

    taken = asyncio.run(run())
    assert (taken.agent, taken.round, taken.local_loss, taken.arrivals) == (1, 2, 0.25, (1,))
    assert (taken.outstanding, taken.messages, taken.wire_bytes) == (2, 14, 200)
    assert taken.point.tolist() == np.full(SHAPE, 2.0).tolist()


def test_who_comes_when_the_run_is_complete_is_told_so_before_it_reports() -> None:
    async def run() -> None:
        async with desk() as (one, channel):
            one.last = Score(5, 1.5, 2.5, None, None)
            reporter = await playback.Reporter(channel, 1, RUN_ID).open()
            assert [each.round for each in await reporter.answers(1)] == [5]

    asyncio.run(run())


def test_a_stream_that_does_not_say_whose_it_is_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "FIRST_MESSAGE", 0.01)

    async def run() -> None:
        async with desk() as (one, channel):
            status, text = await playback.Reporter(channel, 1, RUN_ID).refusal()
            assert (status, "no reporter is named within" in text) == (Status.DEADLINE_EXCEEDED, True)
            assert one.rejected("silence") == 1

    asyncio.run(run())


WRONG_POINT = np.zeros((2, 4), dtype=np.float32)
NOT_FINITE = np.full(SHAPE, np.nan, dtype=np.float32)
SHORT = tensor_pb2.Array(dense=tensor_pb2.Tensor(shape=SHAPE, data=b"\0" * 20))
MISTAKES: dict[str, tuple[dict[str, Any], grpc.StatusCode, str]] = {
    "shape": ({"point": encode_array(WRONG_POINT)}, Status.INVALID_ARGUMENT, "shape (2, 4), expected (2, 3)"),
    "length": ({"point": SHORT}, Status.INVALID_ARGUMENT, "20 bytes where 6 float32 take 24"),
    "not_finite": (
        {"point": tensor_pb2.Array(dense=encode_tensor(NOT_FINITE))},
        Status.INVALID_ARGUMENT,
        "NaN or infinity",
    ),
    "missing": ({"point": tensor_pb2.Array()}, Status.INVALID_ARGUMENT, "neither dense nor sparse"),
    "order": ({"round": 4}, Status.OUT_OF_RANGE, "agent 0 reported round 4, expected round 2"),
    "conflict": ({"round": 1}, Status.ALREADY_EXISTS, "agent 0 reported another play of round 1 before"),
    "arrivals": ({"arrivals": [2]}, Status.INVALID_ARGUMENT, "the arrivals of round 2 are [2]"),
}


@pytest.mark.parametrize("reason", list(MISTAKES))
def test_a_wrong_report_ends_its_stream_and_is_counted(reason: str) -> None:
    changes, status, text = MISTAKES[reason]

    async def run() -> None:
        async with desk() as (one, channel):
            other = await playback.Reporter(channel, 1, RUN_ID).open()
            await other.report(report(1))
            await other.answers(1)
            reporter = await playback.Reporter(channel, 0, RUN_ID).open()
            await reporter.report(report(1), report(2, **changes))
            code, details = await reporter.refusal()
            assert code == status
            assert text in details
            assert one.rejected(reason) == 1
            assert [(r.agent, r.round) for r in one.taken] == [(1, 1), (0, 1)]
            await other.report(report(2))  # nobody else is touched by it
            assert (await other.answers(1))[0].round == 2

    asyncio.run(run())


HUGE = np.full(SHAPE, 3e38, dtype=np.float32)
OUT_OF_RANGE: list[tuple[dict[str, Any], str, str]] = [
    ({"local_loss": np.nan}, "not_finite", "the local loss of round 1 is nan"),
    ({"local_loss": np.inf}, "not_finite", "the local loss of round 1 is inf"),
    ({"point": encode_array(HUGE)}, "range", "the play of round 1 has norm 7.35e+38, above 1e+03"),
    ({"point": encode_array(-HUGE)}, "range", "the play of round 1 has norm 7.35e+38, above 1e+03"),
    ({"outstanding": 2}, "range", "2 feedbacks are outstanding after 1 rounds"),
    ({"messages": 2**63}, "range", f"{2**63} messages and 100 bytes cannot have been sent"),
    ({"bytes": 2**64 - 1}, "range", f"7 messages and {2**64 - 1} bytes cannot have been sent"),
]


@pytest.mark.parametrize(("changes", "reason", "text"), OUT_OF_RANGE)
def test_a_number_that_cannot_be_is_refused(changes: dict[str, Any], reason: str, text: str) -> None:
    async def run() -> None:
        async with desk() as (one, channel):
            reporter = await playback.Reporter(channel, 0, RUN_ID).open()
            await reporter.report(report(1, **changes))
            assert await reporter.refusal() == (Status.INVALID_ARGUMENT, text)
            assert one.rejected(reason) == 1
            assert one.taken == []

    asyncio.run(run())


@pytest.mark.parametrize(
    ("agent", "run_id", "status", "text"),
    [
        (0, "another", Status.FAILED_PRECONDITION, f"runs scenario 'another', the observer {RUN_ID!r}"),
        (2, RUN_ID, Status.INVALID_ARGUMENT, "there is no agent 2: agents are 0 to 1"),
    ],
)
def test_a_reporter_of_another_run_is_turned_away(
    agent: int, run_id: str, status: grpc.StatusCode, text: str
) -> None:
    async def run() -> tuple[grpc.StatusCode, str]:
        async with desk() as (_, channel):
            return await (await playback.Reporter(channel, agent, run_id).open()).refusal()

    code, details = asyncio.run(run())
    assert code == status
    assert text in details


def test_who_does_not_say_who_it_is_is_turned_away() -> None:
    async def run() -> tuple[grpc.StatusCode, str]:
        async with desk() as (_, channel):
            reporter = playback.Reporter(channel, 0, RUN_ID)
            await reporter.call.write(pb.ReportRequest(play=report(1)))
            return await reporter.refusal()

    code, details = asyncio.run(run())
    assert code == Status.INVALID_ARGUMENT
    assert details == "the first message has to name the reporter"


def test_a_second_stream_of_an_agent_takes_the_place_of_the_first() -> None:
    async def run() -> None:
        async with desk() as (one, channel):
            first = await playback.Reporter(channel, 0, RUN_ID).open()
            await first.report(report(1))
            await first.answers(1)
            second = await playback.Reporter(channel, 0, RUN_ID).open()
            await second.report(report(2))
            await second.answers(1)
            assert await first.refusal() == (Status.ABORTED, "agent 0 has opened another stream")
            one.servicer.answer(0, Score(2, 9.0, 9.0, 4.0, 0.5))
            late = (await second.answers(1))[0]
            assert (late.global_loss, late.regret, late.gap) == (9.0, 4.0, 0.5)

    asyncio.run(run())


def test_closing_ends_streams_well_and_after_their_answers() -> None:
    async def run() -> None:
        async with desk() as (one, channel):
            reporter = await playback.Reporter(channel, 0, RUN_ID).open()
            await reporter.report(report(1))
            await reporter.answers(1)
            one.servicer.answer(0, Score(1, 1.0, 1.0, None, None))
            one.servicer.close()
            assert (await reporter.answers(1))[0].global_loss == 1.0
            assert await reporter.refusal() == (Status.OK, "")

    asyncio.run(run())


def test_an_agent_that_goes_away_is_forgotten_and_may_come_back() -> None:
    async def run() -> None:
        async with desk() as (one, channel):
            first = await playback.Reporter(channel, 0, RUN_ID).open()
            await first.report(report(1))
            await first.answers(1)
            first.call.cancel()
            second = await playback.Reporter(channel, 0, RUN_ID).open()
            await second.report(report(1), report(2))
            assert [answer.round for answer in await second.answers(2)] == [1, 2]
            assert len(one.taken) == 2

    asyncio.run(run())


def test_who_repeats_itself_and_does_not_listen_is_not_kept_in_memory() -> None:
    answer = pb.ReportResponse(round=1, global_loss=1.5, cumulative_loss=2.5)
    on_their_way = ROOM // answer.ByteSize() + 1
    told = on_their_way + 4 * BACKLOG

    async def run() -> None:
        one, network = Desk(), MemoryNetwork()
        server = network.listener()
        observer_service_pb2_grpc.add_ObserverServiceServicer_to_server(one.servicer, server)
        port = await server.listen("here:0")
        async with network.open_channel(f"here:{port}") as channel:
            reporter = await playback.Reporter(channel, 0, RUN_ID).open()
            repeating = asyncio.create_task(reporter.report(*[report(1)] * told))
            await still(lambda: one.calls)
            assert one.calls <= on_their_way + BACKLOG + 1
            assert len(await reporter.answers(told)) == one.calls == told  # nothing is lost by it
            await repeating
        await server.stop(0)

    asyncio.run(run())


async def still(number: Callable[[], int], turns: int = 100) -> None:
    """Wait until a number has not changed for some turns of the loop: nobody has work, no timer is set."""
    last, same = number(), 0
    while same < turns:
        await asyncio.sleep(0)
        last, same = number(), same + 1 if number() == last else 0


def test_an_agent_is_there_for_as_long_as_its_stream_stands() -> None:
    async def run() -> None:
        async with desk() as (one, channel):
            reporter = await playback.Reporter(channel, 0, RUN_ID).open()
            await reporter.report(report(1))
            await reporter.answers(1)
            one.now += 5
            assert [one.attendance.away(i) for i in range(2)] == [0, 5]
            reporter.call.cancel()
            async with asyncio.timeout(playback.DEADLINE):
                while not one.attendance.away(0):
                    one.now += 1
                    await asyncio.sleep(0.01)
            assert one.attendance.away(1) == one.now - 100

    asyncio.run(run())


class _Quiet:
    """The context of a call that nobody answers any more."""

    async def write(self, _message: Any) -> None:
        return


async def _leaving() -> AsyncIterator[Any]:
    """Yield what an agent says that goes away right after its first play."""
    yield pb.ReportRequest(reporter=pb.Reporter(agent=0, run_id=RUN_ID))
    yield pb.ReportRequest(play=report(1))


@pytest.mark.parametrize("turns", range(16))
def test_an_agent_is_gone_whenever_its_call_is_cancelled(turns: int) -> None:
    """gRPC cancels a call that is ending already as well: at any turn of the loop."""

    async def run() -> Desk:
        one = Desk()
        call = asyncio.create_task(one.servicer.Report(_leaving(), _Quiet()))
        for _ in range(turns):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait({call})
        return one

    one = asyncio.run(run())
    one.now += 5
    assert one.attendance.away(0) == 5
    assert one.servicer._streams == {}
