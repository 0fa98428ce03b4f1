"""The broker under the wall clock."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

import grpc
import pytest
from loopback_broker import Client, broker, refusal, run, scenario
from told_journal import ToldJournal
from waiting import eventually

from edgefw.delays import edits
from edgefw.delays.hold import Taken, WallHold
from edgefw.scenario.plan import scenario_plan
from edgefw.services.broker.limits import limits_of
from edgefw.transport.channel import LARGEST_PAYLOAD

if TYPE_CHECKING:
    from told_clock import Clock

    from edgefw.delays.hold import Hold


def test_feedback_comes_by_due_time_never_early_with_its_bytes(clock: Clock) -> None:
    slow = {"type": "latency", "agents": [0], "trace": ["300ms", "200ms", "100ms"]}

    async def test() -> None:
        async with broker(scenario("wall", slow)) as client:
            stream, other = await client.subscribe(), await client.subscribe(1)
            payloads = {s: bytes(range(256)) * s for s in (1, 2, 3)}
            for s, payload in payloads.items():
                answer = await client.submit(s, payload)
                assert answer.requested_delay == pytest.approx(0.4 - 0.1 * s)
                assert not answer.dropped
            for s in (3, 2, 1):
                clock.advance(0.09)
                await client.submit(s, agent=1)
                assert (await other.next()).round == s  # whatever is due by now has been released
                assert client.sample("queue_depth", agent="0", state="pending") == s
                clock.advance(0.012)
                delivery = await stream.next()
                assert (delivery.round, delivery.payload) == (s, payloads[s])
                assert delivery.requested_delay == pytest.approx(0.4 - 0.1 * s)
            assert client.sample("queue_depth", agent="0", state="due") == 3
            assert client.sample("oldest_feedback_age_seconds", agent="0") == pytest.approx(0.306)
            await stream.acknowledge(1, 2, 3)
            await eventually(lambda: client.sample("delivered_total", agent="0") == 3)
            assert client.sample("oldest_feedback_age_seconds", agent="0") == 0
            assert client.sample("accepted_total", agent="0") == 3
            assert client.sample("requested_delay_seconds", agent="0") == pytest.approx(0.1)
            assert client.sample("lateness_seconds_count") == 6
            assert client.sample("redelivered_total", agent="0") == 0

    clock.run(test())


def test_agents_get_their_own_and_links_do_not_wait_for_each_other() -> None:
    slow = {"type": "latency", "agents": [1], "latency": "1h"}

    async def test() -> None:
        async with broker(scenario("wall", slow)) as client:
            streams = [await client.subscribe(agent) for agent in range(3)]
            for agent in (1, 2, 0):
                for s in (1, 2):
                    await client.submit(s, agent=agent)
            for agent in (0, 2):
                got = [await streams[agent].next() for _ in range(2)]
                assert [each.payload for each in got] == [b"feedback %d of %d" % (s, agent) for s in (1, 2)]
            assert client.sample("queue_depth", agent="1", state="pending") == 2

    run(test())


def test_what_was_not_acknowledged_comes_again_on_a_new_stream() -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            await client.submit(1)  # before anybody has subscribed
            first = await client.subscribe()
            for s in (2, 3):
                await client.submit(s)
            assert [(await first.next()).round for _ in range(3)] == [1, 2, 3]
            await first.acknowledge(2)
            await eventually(lambda: client.sample("delivered_total", agent="0") == 1)
            first.call.cancel()
            await client.submit(4)
            await eventually(lambda: client.sample("queue_depth", agent="0", state="due") == 3)
            second = await client.subscribe()
            assert [(await second.next()).round for _ in range(3)] == [1, 3, 4]
            assert client.sample("redelivered_total", agent="0") == 2  # round 4 was never sent before
            await second.acknowledge(1, 3, 4)
            await eventually(lambda: client.sample("queue_depth", agent="0", state="due") == 0)

    run(test())


def test_the_newest_subscription_of_an_agent_is_the_one_that_counts() -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            older, newer = await client.subscribe(), await client.subscribe()
            ended = await refusal(older.call.read())
            assert ended.code() == grpc.StatusCode.ABORTED
            assert "agent 0 subscribed again" in ended.details()
            await client.submit(1)
            assert (await newer.next()).round == 1

    run(test())


def test_a_stream_that_the_agent_closes_ends_well() -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            stream = await client.subscribe()
            await stream.call.done_writing()
            assert await stream.call.read() is grpc.aio.EOF
            assert await stream.call.code() == grpc.StatusCode.OK

    run(test())


def test_subscriptions_end_when_the_broker_stops() -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            stream = await client.subscribe()
            client.stop.set()
            ended = await refusal(stream.call.read())
            assert ended.code() == grpc.StatusCode.UNAVAILABLE
            assert "the broker is stopping" in ended.details()

    run(test())


def test_submissions_end_when_the_broker_stops_after_the_answers_to_what_it_took() -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            idle, busy = client.submissions(), client.submissions()
            await idle.submit(client.request(1))
            journal.prompt = False
            await busy.send(client.request(2))
            await eventually(lambda: client.hold.links[0].count == 2)
            client.stop.set()
            assert (await refusal(idle.answer())).code() == grpc.StatusCode.UNAVAILABLE
            journal.commit()
            assert (await busy.answer()).round == 2
            ended = await refusal(busy.answer())
            assert ended.code() == grpc.StatusCode.UNAVAILABLE
            assert "the broker is stopping" in ended.details()
            assert client.sample("rejected_total", agent="0", reason="stopping") is None

    run(test())


def test_what_is_dropped_never_comes_and_the_answer_says_so() -> None:
    async def test() -> None:
        async with broker(scenario("wall", {"type": "drop", "agents": [0]})) as client:
            stream = await client.subscribe()
            for s in range(1, 6):
                assert (await client.submit(s)).dropped
            assert client.sample("queue_depth", agent="0", state="pending") == 0
            await client.control.apply("remove", lambda plan, _: edits.remove(plan, 0, "delays-0"))
            await client.submit(6)
            assert (await stream.next()).round == 6  # nothing came before it
            assert client.sample("lateness_seconds_count") == 1
        async with broker(scenario("rounds", {"type": "drop", "agents": [0]})) as client:
            for t in range(1, 6):
                assert (await client.submit(t)).dropped
                assert await client.collect(t) == []

    run(test())


def test_the_largest_payload_comes_back() -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            await client.submit(1, bytes(LARGEST_PAYLOAD))
            assert len((await (await client.subscribe()).next()).payload) == LARGEST_PAYLOAD
        async with broker(scenario("rounds")) as client:
            await client.submit(1, bytes(LARGEST_PAYLOAD))
            assert await client.collect(1) == [1]

    run(test())


def test_a_broker_that_alters_bytes_can_be_built_and_an_honest_one_does_not() -> None:
    class Tampering(WallHold):
        def submit(self, agent: int, round_: int, payload: bytes, norm: float, now: float) -> Taken:
            return super().submit(agent, round_, payload[::-1], norm, now)

    async def echo(hold: Hold | None) -> bytes:
        async with broker(plan, hold) as client:
            await client.submit(1, b"\x00\x01\xff")
            return (await (await client.subscribe()).next()).payload

    plan = scenario()

    async def test() -> None:
        assert await echo(None) == b"\x00\x01\xff"
        assert await echo(Tampering(scenario_plan(plan), limits_of(plan))) == b"\xff\x01\x00"

    run(test())


def test_a_thousand_feedbacks_with_mixed_delays_all_come_once_and_never_early() -> None:
    mixed = {"type": "latency", "latency": "150ms", "jitter": "150ms", "distribution": "uniform"}

    async def agent(client: Client, i: int) -> None:
        stream, submitted, due = await client.subscribe(i), {}, {}
        submissions = client.submissions()

        async def submit() -> None:
            for s in range(1, 251):
                submitted[s] = monotonic()
                await submissions.submit(client.request(s, agent=i))

        async def receive() -> None:
            for _ in range(250):
                delivery = await stream.next()
                assert monotonic() >= submitted[delivery.round] + delivery.requested_delay
                due[delivery.round] = delivery.requested_delay
                await stream.acknowledge(delivery.round)

        await asyncio.gather(submit(), receive())
        assert sorted(due) == list(range(1, 251))
        assert min(due.values()) < 0.1
        assert max(due.values()) > 0.2

    async def test() -> None:
        async with broker(scenario("wall", mixed, agents=4, rounds=250)) as client:
            await asyncio.gather(*(agent(client, i) for i in range(4)))
            await eventually(lambda: client.sample("delivered_total", agent="3") == 250)
            assert client.sample("lateness_seconds_count") == 1000

    run(test())
