"""A broker with limits: it refuses what is too much, keeps the rest, and has room again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import pytest
from loopback_broker import broker, refusal, run, scenario
from waiting import eventually

from edgefw.delays import edits
from edgefw.errors import InputError
from edgefw.transport.broker_client import BrokerClient

if TYPE_CHECKING:
    from told_clock import Clock


FULL = grpc.StatusCode.RESOURCE_EXHAUSTED
HOUR = {"type": "latency", "latency": "1h"}


@pytest.mark.parametrize(
    ("limits", "agents", "words"),
    [
        ({"link": 2}, [0, 0], "the link of agent 0 is full: 2 feedbacks are pending"),
        ({"all": 3}, [0, 1, 2], "the broker is full: 3 feedbacks are pending"),
        ({"megabytes": 1}, [0, 0], "the broker is full: 800000 bytes are held"),
    ],
)
def test_a_limit_refuses_what_is_one_too_many_and_keeps_the_rest(
    clock: Clock, limits: dict[str, int], agents: list[int], words: str
) -> None:
    late = {"type": "latency", "latency": "300ms"}

    async def test() -> None:
        async with broker(scenario("wall", late, limits=limits)) as client:
            for s, agent in enumerate(agents, start=1):
                await client.submit(s, bytes(400_000), agent=agent)
            error = await refusal(client.submit(5, bytes(400_000)))
            assert error.code() == FULL
            assert words in error.details()
            assert client.sample("rejected_total", agent="0", reason="full") == 1
            again = await client.submit(1, bytes(400_000))  # it has this one
            assert again.requested_delay == pytest.approx(0.3)
            stream = await client.subscribe()
            clock.advance(0.301)
            assert (await stream.next()).round == 1
            await eventually(lambda: client.hold.pending == 0)
            await stream.acknowledge(1)
            await eventually(lambda: client.control.link(0).delivered == 1)
            await client.submit(5, bytes(400_000))  # what is pending no more does not count, nor what it has
            assert client.sample("rejected_total", agent="0", reason="full") == 1

    clock.run(test())


def test_one_full_link_does_not_hold_up_another() -> None:
    async def test() -> None:
        async with broker(scenario("wall", {**HOUR, "agents": [0]}, limits={"link": 1})) as client:
            await client.submit(1)
            assert (await refusal(client.submit(2))).code() == FULL
            stream = await client.subscribe(1)
            for s in (1, 2, 3):
                await client.submit(s, agent=1)
                assert (await stream.next()).round == s

    run(test())


def test_there_is_room_again_when_feedback_is_dropped(clock: Clock) -> None:
    async def test() -> None:
        async with broker(scenario("wall", HOUR, limits={"link": 1})) as client:
            await client.submit(1)
            assert (await refusal(client.submit(2))).code() == FULL
            await client.post({"type": "drop", "apply_to": "pending", "duration": "100ms"})
            assert client.hold.pending == 0
            clock.advance(0.101)
            await eventually(lambda: len(client.control.plan.entries) == 1)  # it is over
            await client.submit(2)

    clock.run(test())


def test_an_agent_waits_for_room_and_gets_through_in_order() -> None:
    late = {"type": "latency", "latency": "60ms"}

    async def test() -> None:
        async with broker(scenario("wall", late, limits={"link": 2, "all": 2})) as client:
            agent = BrokerClient(client.address, 0, client.run_id)
            submissions = [agent.submit(s, b"feedback %d" % s, 1.0) for s in range(1, 9)]
            came: dict[int, bytes] = {}

            async def receive() -> None:
                async for delivery in agent.deliveries():
                    came[delivery.round] = delivery.payload

            receiving = asyncio.create_task(receive())
            await asyncio.gather(*submissions)
            await eventually(lambda: len(came) == 8)
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)
            await agent.close()
            assert list(came.items()) == [(s, b"feedback %d" % s) for s in range(1, 9)]
            assert client.sample("rejected_total", agent="0", reason="full") > 0  # type: ignore[operator]

    run(test())


def test_by_rounds_a_plan_that_could_not_go_on_is_refused_at_the_start_and_as_a_change() -> None:
    late = {"type": "rounds", "rounds": 4}

    async def test() -> None:
        with pytest.raises(InputError, match=r"limits\.link is 4.*delays reach 4 rounds: at least 5"):
            async with broker(scenario("rounds", late, limits={"link": 4})):
                pass
        with pytest.raises(InputError, match=r"limits\.all is 14.*at least 15 are needed"):
            async with broker(scenario("rounds", late, limits={"all": 14})):
                pass
        async with broker(scenario("rounds", limits={"link": 5})) as client:
            await client.post(late)
            with pytest.raises(InputError, match=r"limits\.link is 5"):
                await client.post({"type": "rounds", "rounds": 2})
            with pytest.raises(InputError, match=r"limits\.link is 5"):
                await client.control.apply("disable", lambda plan, _: edits.enable(plan, 1, enabled=False))
            assert [entry.name for entry in client.control.plan.entries] == ["rounds"]
            got = {}
            for t in range(1, 21):  # and it does go on
                await client.submit(t)
                got[t] = await client.collect(t)
            assert got == {t: [t - 3] if t > 3 else [] for t in range(1, 21)}

    run(test())


@pytest.mark.parametrize("most", [19, 20])
def test_by_the_wall_clock_what_waits_for_the_end_must_have_room_until_then(most: int) -> None:
    until_end = {"type": "adversary", "strategy": "until_end", "agents": [1]}

    async def test() -> None:
        async with broker(scenario("wall", until_end, limits={"link": most})) as client:
            stream = client.submissions()
            for s in range(1, 21):
                await stream.submit(client.request(s, agent=1))
            await eventually(lambda: client.hold.pending == 0)

    if most == 20:
        run(test())
    else:
        with pytest.raises(InputError, match=r"limits\.link is 19.*at least 20 are needed"):
            run(test())
