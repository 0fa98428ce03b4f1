"""What is dropped after its submission was answered: its agent is told, whenever it listens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
import pytest
from loopback_broker import broker, refusal, run, scenario
from told_journal import ToldJournal

from edgefw.delays import edits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopback_broker import Client


THIEF: dict[str, Any] = {"type": "drop", "apply_to": "pending"}
HELD: dict[str, dict[str, Any]] = {
    "wall": {"type": "latency", "latency": "1h", "agents": [0]},
    "rounds": {"type": "rounds", "rounds": 9, "agents": [0]},
}


async def drop_what_is_pending(client: Client) -> None:
    await client.post(THIEF, 0, "thief")


async def submit(client: Client, rounds: Sequence[int], agent: int = 0) -> None:
    for s in rounds:
        await client.submit(s, agent=agent)


def test_a_subscriber_is_told_at_once_and_others_hear_nothing_of_it() -> None:
    async def test() -> None:
        async with broker(scenario("wall", HELD["wall"])) as client:
            stream, other = await client.subscribe(), await client.subscribe(1)
            await submit(client, [1, 2])
            await drop_what_is_pending(client)
            assert await stream.dropped() == [1, 2]
            assert (await client.submit(3)).dropped  # and is told by that answer alone
            await client.control.apply("remove", lambda plan, _: edits.remove(plan, 0, "thief"))
            await submit(client, [1], agent=1)
            assert (await other.next()).round == 1
            await client.control.apply("remove", lambda plan, _: edits.remove(plan, 0, "delays-0"))
            await client.submit(4)
            assert (await stream.next()).round == 4

    run(test())


def test_who_subscribes_later_is_told_what_of_the_awaited_will_not_come() -> None:
    async def test() -> None:
        async with broker(scenario("wall", HELD["wall"])) as client:
            await submit(client, [1, 2])
            await drop_what_is_pending(client)
            await client.control.apply("remove", lambda plan, _: edits.remove(plan, 0, "thief"))
            await client.submit(3)
            stream = await client.subscribe(awaited=[2, 3, 4])
            assert await stream.dropped() == [2]  # 1 is not awaited, 3 is held, 4 has not been submitted

    run(test())


def test_with_each_round_that_is_collected_comes_what_of_the_awaited_will_not() -> None:
    async def test() -> None:
        async with broker(scenario("rounds", HELD["rounds"])) as client:
            await submit(client, [1, 2])
            assert await client.given_up(2, [1, 2]) == []
            await drop_what_is_pending(client)
            await submit(client, [3])
            for _ in range(2):  # an answer that is lost is asked for again
                assert await client.given_up(3, [1, 2, 4]) == [1, 2]

    run(test())


@pytest.mark.parametrize("clock", ["wall", "rounds"])
def test_a_broker_that_was_killed_still_tells_what_will_not_come(clock: str) -> None:
    async def test() -> None:
        journal, plan = ToldJournal(), scenario(clock, HELD[clock], agents=1)
        async with broker(plan, journal=journal) as client:
            await submit(client, [1, 2])
            await drop_what_is_pending(client)
            left = journal.crashed()
        async with broker(plan, journal=ToldJournal(left)) as client:
            if clock == "wall":
                assert await (await client.subscribe(awaited=[1, 2])).dropped() == [1, 2]
            else:
                assert await client.given_up(2, [1, 2]) == [1, 2]

    run(test())


@pytest.mark.parametrize("awaited", [[0], [21], [1] * 21], ids=["none", "beyond", "too many"])
def test_what_cannot_be_awaited_is_refused(awaited: list[int]) -> None:
    async def test() -> None:
        async with broker(scenario("rounds")) as client:
            await client.submit(1)
            error = await refusal(client.given_up(1, awaited))
            assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert client.sample("rejected_total", agent="0", reason="round") == 1
        async with broker(scenario("wall")) as client:
            call = client.stub.Subscribe()
            await call.write(client.subscription(awaited=awaited))
            assert (await refusal(call.read())).code() == grpc.StatusCode.INVALID_ARGUMENT

    run(test())
