"""An agent's reports: sent until they are scored, to observers that come and go."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
import pytest
from loopback_broker import run
from waiting import eventually

from edgefw.errors import RunOverError
from edgefw.transport import connection, observer_client
from edgefw.transport.backoff import FIRST, Backoff
from edgefw.transport.observer_client import ObserverClient
from edgefw.transport.server import RpcServer
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1 import observer_service_pb2_grpc as stubs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edgefw.core.messages import Score

POINT = np.zeros((1, 1), np.float32)


class Scoring(stubs.ObserverServiceServicer):
    """Scores a play and ends the stream with a status, for each of `ends`; then it scores all that comes."""

    def __init__(self, *ends: grpc.StatusCode) -> None:
        self._ends, self.firsts = list(ends), list[int]()  # the first round of each stream

    async def Report(self, _requests: Any, context: Any) -> None:  # noqa: N802
        assert (await context.read()).WhichOneof("content") == "reporter"
        play = (await context.read()).play
        self.firsts.append(play.round)
        await context.write(_score(play))
        if self._ends:
            await context.abort(self._ends.pop(0), "as it is written")
        while (request := await context.read()) is not grpc.aio.EOF:
            await context.write(_score(request.play))


def _score(play: Any) -> pb.ReportResponse:
    return pb.ReportResponse(round=play.round, global_loss=play.round, cumulative_loss=play.round)


@asynccontextmanager
async def reporting(
    servicer: Scoring,
) -> AsyncIterator[tuple[ObserverClient, list[Score], asyncio.Task[None]]]:
    server, scores = RpcServer(), list[Any]()
    add = partial(stubs.add_ObserverServiceServicer_to_server, servicer)
    port = await server.start("127.0.0.1:0", add)
    client = ObserverClient(f"127.0.0.1:{port}", 0, "run", scores.append)
    task = asyncio.create_task(client.run())
    try:
        yield client, scores, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.stop()


def report(client: ObserverClient, *rounds: int) -> None:
    for t in rounds:
        client.report(t, POINT, local_loss=0.0, arrivals=(), outstanding=0, messages=0, sent_bytes=0)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return what will be the pauses before each try, which take no time."""
    taken: list[float] = []

    class Noted(Backoff):
        async def pause(self) -> None:
            taken.append(self._next)
            self._next = min(2 * self._next, 1.0)
            await asyncio.sleep(0)

    monkeypatch.setattr(connection, "Backoff", Noted)
    return taken


def test_pauses_are_short_again_once_a_play_was_scored(pauses: list[float]) -> None:
    async def test() -> None:
        unsteady = Scoring(*[grpc.StatusCode.UNAVAILABLE] * 5)
        async with reporting(unsteady) as (client, scores, _):
            report(client, *range(1, 8))
            await client.settled()
            assert [score.round for score in scores] == [1, 2, 3, 4, 5, 6, 7]
            assert pauses == [FIRST] * 5
            assert unsteady.firsts == [1, 2, 3, 4, 5, 6]

    run(test())


def test_an_observer_of_another_run_ends_the_client() -> None:
    async def test() -> None:
        async with reporting(Scoring(grpc.StatusCode.FAILED_PRECONDITION)) as (client, _, task):
            report(client, 1)
            with pytest.raises(RunOverError, match="the observer refuses reports: as it is written"):
                await task

    run(test())


def test_whoever_reports_waits_at_the_bound_and_goes_on_when_scores_have_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test() -> None:
        async with reporting(Scoring()) as (client, scores, _):
            size = pb.ReportRequest(play=_play(client, 1)).ByteSize()
            monkeypatch.setattr(observer_client, "SPOOL", 3 * size)
            report(client, 1, 2)
            assert (client.waiting, client.full) == (2, False)
            report(client, 3)
            assert (client.waiting, client.full) == (3, True)
            await client.room()
            assert client.waiting < 3
            await client.settled()
            assert [score.round for score in scores] == [1, 2, 3]
            assert (client.waiting, client.full) == (0, False)

    run(test())


def _play(client: ObserverClient, t: int) -> pb.PlayReport:
    """Return what is sent of a play; the client has it no more."""
    report(client, t)
    _, message = client._kept.popitem()
    client._let_go(message)
    client._unsent.clear()
    return message.play


def test_no_other_refusal_ends_the_client() -> None:
    async def test() -> None:
        ends = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.UNKNOWN)
        async with reporting(Scoring(*ends)) as (client, scores, _):
            report(client, *range(1, 5))
            await eventually(lambda: len(scores) == 4)

    run(test())
