"""An agent's submissions: sent until they are answered, to brokers that go away, are full, or refuse."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from loopback_broker import broker, run, scenario
from told_journal import ToldJournal
from waiting import eventually

from edgefw.errors import BrokerRefusalError
from edgefw.transport import submissions as module
from edgefw.transport.broker_client import BrokerClient
from edgefw.transport.channel import GRPC, LARGEST_PAYLOAD
from edgefw.transport.memory import MemoryNetwork
from edgefw.transport.server import RpcServer
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1 import broker_service_pb2_grpc as stubs
from edgefw.virtual import loop as virtual_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from edgefw.services.broker.journal import Restored
    from edgefw.transport.seam import Transport

Status = grpc.StatusCode


@dataclass
class Act:
    """What a broker does with one stream: it answers so many submissions, or none, and then ends it."""

    answers: int = 10**6
    ends: grpc.StatusCode | None = None
    silent: bool = False


@dataclass
class Scripted(stubs.BrokerServiceServicer):
    """A broker that has an act for each stream; the last one is for all others."""

    acts: Sequence[Act]
    streams: list[list[int]] = field(default_factory=list)  # the rounds that came over each

    async def Submit(self, _requests: object, context: Any) -> None:  # noqa: N802
        act = self.acts[min(len(self.streams), len(self.acts) - 1)]
        rounds: list[int] = []
        self.streams.append(rounds)
        while (request := await context.read()) is not grpc.aio.EOF:
            rounds.append(request.round)
            if len(rounds) > act.answers:
                break
            if not act.silent:
                await context.write(pb.SubmitResponse(agent=request.agent, round=request.round))
        if act.ends is not None:
            await context.abort(act.ends, "as it is written")


@asynccontextmanager
async def scripted(*acts: Act, transport: Transport = GRPC) -> AsyncIterator[tuple[Scripted, BrokerClient]]:
    servicer, server = Scripted(acts), RpcServer(transport)
    add = partial(stubs.add_BrokerServiceServicer_to_server, servicer)
    port = await server.start("127.0.0.1:0", add)
    client = BrokerClient(f"127.0.0.1:{port}", 0, "digest", transport=transport)
    try:
        yield servicer, client
    finally:
        await client.close()
        await server.stop()


async def submit(client: BrokerClient, *rounds: int) -> list[int]:
    """Submit some rounds side by side; return the rounds of the answers."""
    answers = await asyncio.gather(*(client.submit(s, b"feedback", 1.0) for s in rounds))
    return [answer.round for answer in answers]


def test_one_stream_carries_all_submissions_in_order() -> None:
    async def test() -> None:
        async with scripted(Act()) as (server, client):
            assert await submit(client, 1, 2, 3) == [1, 2, 3]
            assert await submit(client, 4) == [4]
            assert server.streams == [[1, 2, 3, 4]]

    run(test())


@pytest.mark.parametrize(
    "ends", [Status.UNAVAILABLE, Status.RESOURCE_EXHAUSTED, Status.DEADLINE_EXCEEDED, None]
)
def test_what_was_not_answered_is_submitted_again_in_order_and_what_was_is_not(
    ends: grpc.StatusCode | None,
) -> None:
    """Over memory: when a stream of gRPC breaks, an answer that was sent just before may be lost with it."""
    acts = Act(answers=2, ends=ends), Act(answers=1, ends=ends), Act()

    async def test() -> None:
        async with scripted(*acts, transport=MemoryNetwork()) as (server, client):
            assert await submit(client, 1, 2, 3, 4, 5) == [1, 2, 3, 4, 5]
            assert server.streams[0][:3] == [1, 2, 3]
            assert server.streams[1][:2] == [3, 4]
            assert server.streams[2] == [4, 5]

    virtual_loop.run(test())


def test_over_real_streams_that_break_every_submission_is_answered() -> None:
    async def test() -> None:
        acts = Act(answers=2, ends=Status.UNAVAILABLE), Act(answers=1, ends=Status.UNAVAILABLE), Act()
        async with scripted(*acts) as (server, client):
            assert await submit(client, 1, 2, 3, 4, 5) == [1, 2, 3, 4, 5]
            assert all(stream == sorted(stream) for stream in server.streams)
            assert server.streams[-1][-1] == 5

    run(test())


@pytest.mark.parametrize("ends", [Status.FAILED_PRECONDITION, Status.INVALID_ARGUMENT, Status.ALREADY_EXISTS])
def test_a_refusal_reaches_everyone_who_waits_and_the_next_may_try(ends: grpc.StatusCode) -> None:
    acts = Act(answers=1, ends=ends), Act(answers=0, ends=ends)

    async def test() -> None:
        async with scripted(*acts, transport=MemoryNetwork()) as (server, client):
            tasks = [asyncio.create_task(client.submit(s, b"feedback", 1.0)) for s in (1, 2, 3, 4)]
            await asyncio.wait(tasks)
            assert tasks[0].result().round == 1
            for task in tasks[1:]:
                assert isinstance(task.exception(), BrokerRefusalError)
                assert f"submit round 2: {ends.name}: as it is written" in str(task.exception())
            server.acts = [Act()]
            assert await submit(client, 9) == [9]
            assert server.streams[-1] == [9]  # nobody waits for the others any more

    virtual_loop.run(test())


def test_a_broker_that_says_nothing_is_asked_again() -> None:
    async def test() -> None:
        async with scripted(Act(silent=True), Act(), transport=MemoryNetwork()) as (server, client):
            begin = asyncio.get_running_loop().time()
            assert await submit(client, 1, 2) == [1, 2]
            assert server.streams == [[1, 2], [1, 2]]
            assert asyncio.get_running_loop().time() - begin >= module.PATIENCE

    virtual_loop.run(test())


def test_who_does_not_wait_any_more_is_not_submitted_again() -> None:
    async def test() -> None:
        async with scripted(Act(silent=True, answers=2, ends=Status.UNAVAILABLE), Act()) as (server, client):
            impatient = asyncio.create_task(client.submit(1, b"feedback", 1.0))
            patient = asyncio.create_task(client.submit(2, b"feedback", 1.0))
            await eventually(lambda: server.streams == [[1, 2]])
            impatient.cancel()
            await asyncio.gather(impatient, return_exceptions=True)
            third = asyncio.create_task(client.submit(3, b"feedback", 1.0))  # which ends the stream
            assert [(await task).round for task in (patient, third)] == [2, 3]
            assert server.streams[1] == [2, 3]

    run(test())


def test_too_much_is_refused_before_it_is_sent() -> None:
    async def test() -> None:
        async with scripted(Act()) as (server, client):
            with pytest.raises(BrokerRefusalError, match=r"lower problem\.batch"):
                await client.submit(1, bytes(LARGEST_PAYLOAD + 1), 1.0)
            assert server.streams == []

    run(test())


def test_closing_leaves_nobody_waiting_in_the_background() -> None:
    async def test() -> None:
        async with scripted(Act(silent=True)) as (server, client):
            waiting = asyncio.create_task(client.submit(1, b"feedback", 1.0))
            await eventually(lambda: server.streams == [[1]])
            await client.close()
            assert not waiting.done()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert [task for task in asyncio.all_tasks() if task.get_name() == "submissions"] == []

    run(test())


def test_whatever_else_ends_the_submissions_reaches_everyone_who_waits_and_the_next_may_try() -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    async def test() -> None:
        async with scripted(Act()) as (server, client):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module.Submissions, "_write", broken)
                waiting = [asyncio.create_task(client.submit(s, b"feedback", 1.0)) for s in (1, 2)]
                await asyncio.wait(waiting)
                assert [type(task.exception()) for task in waiting] == [ZeroDivisionError] * 2
            assert await submit(client, 3) == [3]
            assert server.streams[-1] == [3]

    run(test())


# -- with a real broker --


def test_a_broker_may_go_away_and_come_back_without_loss_or_copies() -> None:
    plan = scenario("wall", {"type": "latency", "latency": "1h"}, rounds=20)

    async def serve(known: Restored | None, port: int, rounds: int) -> tuple[ToldJournal, int]:
        """Run a broker until it has so many feedbacks; it dies without a word about the last."""
        journal = ToldJournal(known)
        async with broker(plan, journal=journal, port=port) as client:
            await eventually(lambda: client.hold.links[0].count >= rounds)
            return journal, client.port

    async def test() -> None:
        journal, port = await serve(None, 0, 0)
        client = BrokerClient(f"127.0.0.1:{port}", 0, plan.digest)
        submitting = [asyncio.create_task(client.submit(s, b"feedback %d" % s, 1.0)) for s in range(1, 5)]
        for more in (3, 7, 12):
            journal, _ = await serve(journal.crashed(), port, more)
            submitting += [
                asyncio.create_task(client.submit(s, b"feedback %d" % s, 1.0))
                for s in range(len(submitting) + 1, len(submitting) + 5)
            ]
        journal, _ = await serve(journal.crashed(), port, len(submitting))
        answers = await asyncio.gather(*submitting)
        await client.close()
        assert [answer.round for answer in answers] == list(range(1, 17))
        assert [(row.round, row.payload) for row in journal.rows()] == [
            (s, b"feedback %d" % s) for s in range(1, 17)
        ]

    run(test())


def test_an_agent_whose_subscription_was_taken_over_subscribes_again() -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            agent = BrokerClient(client.address, 0, client.run_id)
            receiving = asyncio.ensure_future(anext(agent.deliveries()))
            await eventually(lambda: client.control.connected(0))
            foreign = await client.subscribe(0)
            foreign.call.cancel()
            await client.submit(1, b"feedback")
            assert (await receiving).payload == b"feedback"
            await agent.close()

    run(test())


@pytest.mark.parametrize("ends", [Status.ABORTED, Status.UNKNOWN, Status.DATA_LOSS, Status.INTERNAL])
def test_no_failure_that_may_pass_ends_the_submissions(ends: grpc.StatusCode) -> None:
    async def test() -> None:
        async with scripted(Act(answers=0, ends=ends), Act()) as (_, client):
            assert await submit(client, 1) == [1]

    run(test())


def test_a_broker_that_is_still_in_the_run_before_is_waited_for() -> None:
    """The observer lets agents begin when the broker knows of the run, which may not yet serve it."""
    plan = scenario()

    async def test() -> None:
        agent: BrokerClient | None = None
        async with broker(plan, run="before") as client:
            agent = BrokerClient(client.address, 0, f"{plan.digest}/now")
            submitting = asyncio.create_task(agent.submit(1, b"feedback", 1.0))
            receiving = asyncio.ensure_future(anext(agent.deliveries()))
            await eventually(lambda: (client.sample("rejected_total", agent="0", reason="run") or 0) >= 2)
            assert not submitting.done()
        async with broker(plan, run="now", port=client.port):
            assert (await submitting).round == 1
            assert (await receiving).payload == b"feedback"
            await agent.close()

    run(test())


def test_the_wrong_run_is_refused_for_good() -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            agent = BrokerClient(client.address, 0, "another")
            with pytest.raises(
                BrokerRefusalError, match="FAILED_PRECONDITION: agent 0 runs scenario 'another'"
            ):
                await agent.submit(1, b"feedback", 1.0)
            with pytest.raises(BrokerRefusalError, match="refuses to subscribe: FAILED_PRECONDITION"):
                await anext(agent.deliveries())
            await agent.close()

    run(test())
