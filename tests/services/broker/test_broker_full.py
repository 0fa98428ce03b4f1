"""A broker whose journal has no room, or fails: nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import grpc
import pytest
from loopback_broker import broker, refusal, run, scenario
from told_journal import ToldJournal
from waiting import eventually

from edgefw.delays import edits
from edgefw.errors import JournalError
from edgefw.services.broker.journal import State, Tuning
from edgefw.transport.broker_client import BrokerClient

if TYPE_CHECKING:
    from pathlib import Path

    from loopback_broker import Client
    from told_clock import Clock


FULL = grpc.StatusCode.RESOURCE_EXHAUSTED
HOUR = {"type": "latency", "latency": "1h"}


def test_what_cannot_be_kept_is_refused_and_what_was_acknowledged_is_delivered(clock: Clock) -> None:
    late = {"type": "latency", "latency": "150ms"}

    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario("wall", late), journal=journal) as client:
            await client.submit(1)
            journal.full = True
            error = await refusal(client.submit(2))
            assert (error.code(), "has no room" in error.details()) == (FULL, True)
            assert client.sample("rejected_total", agent="0", reason="full") == 1
            assert (client.hold.pending, client.hold.links[0].count) == (1, 1)
            stream = await client.subscribe()
            clock.advance(0.151)
            assert (await stream.next()).round == 1
            await stream.acknowledge(1)
            await eventually(lambda: client.sample("delivered_total", agent="0") == 1)
            journal.full = False
            assert (await client.submit(2)).requested_delay == pytest.approx(0.15)
            clock.advance(0.151)
            assert (await stream.next()).round == 2
            assert client.sample("accepted_total", agent="0") == 2
        assert {row.round: row.state for row in journal.rows()} == {1: State.DONE, 2: State.SENT}

    clock.run(test())


def test_an_agent_waits_for_the_disk_and_gets_through() -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            journal.full = True
            agent = BrokerClient(client.address, 0, client.run_id)
            submitting = [asyncio.create_task(agent.submit(s, b"feedback", 1.0)) for s in (1, 2, 3)]
            await eventually(lambda: (client.sample("rejected_total", agent="0", reason="full") or 0) > 1)
            assert not any(task.done() for task in submitting)
            journal.full = False
            answers = await asyncio.gather(*submitting)
            assert [answer.round for answer in answers] == [1, 2, 3]
            await agent.close()
            assert client.hold.links[0].count == 3

    run(test())


def test_nothing_is_answered_before_it_is_kept_though_it_may_be_delivered() -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            stream, deliveries = client.submissions(), await client.subscribe()
            journal.prompt = False
            await stream.send(client.request(1), client.request(2))
            first = asyncio.create_task(stream.answer())
            assert [(await deliveries.next()).round for _ in range(2)] == [1, 2]
            assert not first.done()
            journal.commit()
            assert (await first).round == 1
            assert (await stream.answer()).round == 2

    run(test())


def test_feedback_that_was_delivered_and_then_not_kept_may_be_acknowledged_and_submitted_again() -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            stream, deliveries = client.submissions(), await client.subscribe()
            journal.prompt = False
            await stream.send(client.request(1))
            assert (await deliveries.next()).round == 1
            journal.full = True
            journal.commit()
            assert (await refusal(stream.answer())).code() == FULL
            await deliveries.acknowledge(1)  # it has it, whatever the broker could keep
            journal.prompt, journal.full = True, False
            await client.submit(1)
            delivery = await deliveries.next()
            assert (delivery.round, delivery.payload) == (1, b"feedback 1 of 0")
            await deliveries.acknowledge(1)
            await eventually(lambda: client.sample("queue_depth", agent="0", state="due") == 0)

    run(test())


def test_a_plan_that_cannot_be_kept_is_not_put_in_force() -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario("wall", HOUR), journal=journal) as client:
            await client.submit(1)
            journal.full = True
            with pytest.raises(JournalError, match="has no room"):
                await client.control.apply("reset", lambda plan, _: edits.reset(plan))
            assert [entry.name for entry in client.control.plan.entries] == ["delays-0"]
            assert client.hold.pending == 1
            journal.full = False
            plan = await client.post({"type": "drop", "apply_to": "pending"})
            assert (client.control.plan, client.hold.pending) == (plan, 0)

    run(test())


def test_a_broker_whose_journal_fails_ends_with_its_error_and_agents_try_again() -> None:
    ended: list[grpc.StatusCode] = []

    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            stream = client.submissions()
            await stream.submit(client.request(1))
            journal.prompt = False
            await stream.send(client.request(2))
            await eventually(lambda: client.hold.links[0].count == 2)
            journal.fail()
            ended.append((await refusal(stream.answer())).code())
            assert client.hold.links[0].count == 1

    with pytest.raises(JournalError, match="cannot be written"):
        run(test())
    assert ended == [grpc.StatusCode.UNAVAILABLE]


def test_a_journal_that_is_full_takes_more_when_feedback_has_been_delivered(
    tmp_path: Path, clock: Clock
) -> None:
    plan = scenario("wall", {"type": "latency", "latency": "1s"})
    room, big = Tuning(limit=400_000), bytes(50_000)

    async def fits(client: Client, s: int) -> bool:
        call = client.submissions().call
        await call.write(client.request(s, big))
        await call.done_writing()
        with suppress(grpc.aio.AioRpcError):
            await call.read()
        code = await call.code()
        assert code in {grpc.StatusCode.OK, FULL}
        return bool(code != FULL)

    async def fill() -> int:
        async with broker(plan, folder=tmp_path, tuning=room) as client:
            while await fits(client, client.hold.links[0].count + 1):
                pass
            return client.hold.links[0].count

    async def test() -> None:
        kept = await fill()
        assert 2 < kept < 8
        async with broker(plan, folder=tmp_path, tuning=room) as client:  # it starts, full as it is
            assert (client.hold.links[0].count, len(client.hold.links[0].held)) == (kept, kept)
            assert not await fits(client, kept + 1)
            stream = await client.subscribe()
            clock.advance(1.001)
            for s in range(1, kept + 1):
                assert (await stream.next()).round == s
                await stream.acknowledge(s)
            while not await fits(client, kept + 1):
                clock.advance(0.02)  # what is done with is written when it has waited for company
            clock.advance(1.001)
            assert (await stream.next()).payload == big

    clock.run(test())
