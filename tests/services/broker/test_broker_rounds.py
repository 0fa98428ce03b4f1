"""The broker under the rounds clock."""

from __future__ import annotations

from typing import Any

import grpc
from bare_broker import RUN_ID, Bare, Told, World
from loopback_broker import broker, refusal, run, scenario
from told_journal import ToldJournal

from edgefw.services.broker.journal import State
from edgefw.v1 import broker_service_pb2 as pb


def test_collecting_gives_each_rounds_arrivals_and_again_when_asked_again() -> None:
    async def test() -> None:
        plan = scenario("rounds", {"type": "rounds", "agents": [0], "trace": [3, 2, 1]})
        async with broker(plan) as client:
            got = {}
            for t in range(1, 7):
                assert (await client.submit(t)).requested_delay == (3, 2, 1)[(t - 1) % 3]
                got[t] = await client.collect(t)
                assert await client.collect(t) == got[t]
            assert got == {1: [], 2: [], 3: [1, 2, 3], 4: [], 5: [], 6: [4, 5, 6]}
            assert client.sample("requested_delay_rounds", agent="0") == 1
            assert client.sample("delivered_total", agent="0") == 3
            assert client.sample("redelivered_total", agent="0") == 6
            early = await refusal(client.collect(5))
            assert early.code() == grpc.StatusCode.FAILED_PRECONDITION

    run(test())


def test_a_round_is_collected_only_once_it_has_been_submitted() -> None:
    async def test() -> None:
        async with broker(scenario("rounds")) as client:
            await client.submit(1)
            early = await refusal(client.collect(2))
            assert early.code() == grpc.StatusCode.FAILED_PRECONDITION
            assert early.details() == "agent 0 asks for round 2 and has not submitted round 2"
            assert client.sample("rejected_total", agent="0", reason="order") == 1

    run(test())


def test_a_repeated_submission_is_acknowledged_and_delivered_once() -> None:
    async def test() -> None:
        async with broker(scenario("rounds", {"type": "rounds", "rounds": 2})) as client:
            answers = [await client.submit(1) for _ in range(3)]
            assert [answer.requested_delay for answer in answers] == [2.0] * 3
            await client.submit(2)
            assert await client.collect(2) == [1]
            assert client.sample("accepted_total", agent="0") == 2
            other = await refusal(client.submit(2, b"something else"))
            assert other.code() == grpc.StatusCode.ALREADY_EXISTS

    run(test())


def test_a_burst_of_any_size_arrives() -> None:
    async def test() -> None:
        async with broker(scenario("rounds", {"type": "rounds", "trace": [2, 1]})) as client:
            for s in (1, 2):
                await client.submit(s, bytes(9 * 1024 * 1024))
            assert await client.collect(2) == [1, 2]  # more than one message may carry

    run(test())


def test_collecting_checks_who_asks_and_for_what() -> None:
    async def test() -> None:
        async with broker(scenario("rounds")) as client:
            wrong: list[tuple[dict[str, Any], grpc.StatusCode]] = [
                ({"run_id": "feed"}, grpc.StatusCode.FAILED_PRECONDITION),
                ({"agent": 2**32 - 1}, grpc.StatusCode.INVALID_ARGUMENT),
                ({"round": 0}, grpc.StatusCode.INVALID_ARGUMENT),
            ]
            for fields, code in wrong:
                assert (await refusal(client.collect(1, **fields))).code() == code

    run(test())


def test_all_that_comes_with_a_round_is_noted_before_any_of_it_is_given_out() -> None:
    noted: list[State] = []
    world = World()
    bare = Bare(world, Told(world))
    bare.start(scenario("rounds", {"type": "rounds", "trace": [2, 1]}, agents=1, rounds=4))

    class Killed:
        """Somebody to write to; what is on disk after a message is what the next broker finds."""

        def auth_context(self) -> dict[str, list[bytes]]:
            return {}

        async def write(self, _message: pb.CollectResponse) -> None:
            assert isinstance(bare.journal, ToldJournal)
            bare.journal.commit()
            noted.extend(row.state for row in bare.journal.crashed().rows)

    for s in (1, 2):
        request = pb.SubmitRequest(agent=0, round=s, run_id=RUN_ID, payload=b"x", norm=1.0)
        bare.call(bare.broker._intake.take, request)
    bare.run(bare.broker.Collect(pb.CollectRequest(agent=0, round=2, run_id=RUN_ID), Killed()))
    assert noted == [State.SENT] * 4
    bare.stop(cleanly=True)
    bare.close()
