"""What the broker refuses: with a precise status, counted, and it goes on."""

from __future__ import annotations

import math
from typing import Any

import grpc
import pytest
from loopback_broker import Client, broker, refusal, run, scenario
from told_journal import ToldJournal
from waiting import PATIENCE, eventually

from edgefw.services.broker import service as module
from edgefw.transport.channel import LARGEST_PAYLOAD
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1 import broker_service_pb2_grpc as stubs

REFUSALS: list[tuple[dict[str, Any], str, str, grpc.StatusCode, str]] = [
    ({"agent": 3}, "unknown", "agent", grpc.StatusCode.INVALID_ARGUMENT, "agent 3 is not one of 0..2"),
    ({"round": 0}, "0", "round", grpc.StatusCode.INVALID_ARGUMENT, "round 0 is not one of 1..20"),
    ({"round": 21}, "0", "round", grpc.StatusCode.INVALID_ARGUMENT, "round 21 is not one of 1..20"),
    ({"payload": b""}, "0", "payload", grpc.StatusCode.INVALID_ARGUMENT, "feedback of round 1 is empty"),
    (
        {"payload": bytes(LARGEST_PAYLOAD + 1)},
        "0",
        "payload",
        grpc.StatusCode.INVALID_ARGUMENT,
        f"has {LARGEST_PAYLOAD + 1} bytes, at most {LARGEST_PAYLOAD} are taken",
    ),
    ({"norm": math.nan}, "0", "norm", grpc.StatusCode.INVALID_ARGUMENT, "the norm of round 1 is nan"),
    ({"norm": -1.0}, "0", "norm", grpc.StatusCode.INVALID_ARGUMENT, "the norm of round 1 is -1.0"),
    (
        {"round": 5},
        "0",
        "future",
        grpc.StatusCode.FAILED_PRECONDITION,
        "agent 0 submits round 5, and round 0 was its last: at most 4 can be on their way",
    ),
    (
        {"run_id": "feed"},
        "0",
        "digest",
        grpc.StatusCode.FAILED_PRECONDITION,
        f"agent 0 runs scenario 'feed', the broker '{scenario().digest}'",
    ),
]


@pytest.mark.parametrize(("fields", "label", "reason", "code", "words"), REFUSALS)
def test_a_wrong_submission_is_refused_and_counted(
    fields: dict[str, Any], label: str, reason: str, code: grpc.StatusCode, words: str
) -> None:
    async def test() -> None:
        async with broker(scenario()) as client:
            error = await refusal(client.submit(1, **fields))
            assert error.code() == code
            assert words in error.details()
            assert client.sample("rejected_total", agent=label, reason=reason) == 1
            assert client.sample("accepted_total", agent="0") == 0
            await client.submit(1)  # it goes on

    run(test())


def test_a_message_beyond_the_limit_is_refused_by_grpc() -> None:
    async def test() -> None:
        careless = [("grpc.max_send_message_length", -1)]  # an agent's own channel would not even send it
        async with (
            broker(scenario()) as client,
            grpc.aio.insecure_channel(client.address, options=careless) as channel,
        ):
            call = stubs.BrokerServiceStub(channel).Submit(timeout=PATIENCE)
            await call.write(client.request(1, bytes(17 * 1024 * 1024)))
            assert (await refusal(call.read())).code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            await client.submit(1)

    run(test())


def test_the_wrong_clocks_calls_are_refused() -> None:
    async def test() -> None:
        async with broker(scenario("wall")) as client:
            await client.submit(1)
            error = await refusal(client.collect(1))
            assert (error.code(), error.details()) == (
                grpc.StatusCode.FAILED_PRECONDITION,
                "this run is on the wall clock: use Subscribe, not Collect",
            )
        async with broker(scenario("rounds")) as client:
            error = await refusal(client.subscribe())
            assert (error.code(), error.details()) == (
                grpc.StatusCode.FAILED_PRECONDITION,
                "this run is on the rounds clock: use Collect, not Subscribe",
            )
            assert client.sample("rejected_total", agent="0", reason="clock") == 1

    run(test())


def test_a_stream_that_says_something_else_is_ended_and_counted() -> None:
    done = pb.SubscribeRequest(acknowledgement=pb.Acknowledgement(rounds=[1]))
    wrong = pb.SubscribeRequest(subscription=pb.Subscription(agent=0, run_id="feed"))

    async def ended(client: Client, message: pb.SubscribeRequest) -> grpc.aio.AioRpcError:
        call = client.stub.Subscribe(timeout=PATIENCE)
        await call.write(message)
        return await refusal(call.read())

    async def test() -> None:
        async with broker(scenario()) as client:
            first = await ended(client, done)
            assert first.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert "first message of a stream has to be its subscription" in first.details()
            assert client.sample("rejected_total", agent="unknown", reason="content") == 1
            assert (await ended(client, wrong)).code() == grpc.StatusCode.FAILED_PRECONDITION
            stream = await client.subscribe()
            await stream.acknowledge(7)
            never = await refusal(stream.call.read())
            assert "agent 0 acknowledges round 7, which was never delivered" in never.details()
            stream = await client.subscribe()
            await stream.call.write(wrong)
            assert "come acknowledgements only" in (await refusal(stream.call.read())).details()
            await client.submit(1)
            assert (await (await client.subscribe()).next()).round == 1

    run(test())


def test_a_stream_that_says_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)

    async def test() -> None:
        async with broker(scenario()) as client:
            error = await refusal(client.stub.Subscribe(timeout=PATIENCE).read())
            assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            assert client.sample("rejected_total", agent="unknown", reason="silence") == 1

    run(test())


def test_a_refusal_ends_the_stream_after_the_answers_to_what_came_before() -> None:
    async def test() -> None:
        journal = ToldJournal()
        async with broker(scenario(), journal=journal) as client:
            journal.prompt = False  # so that the stream does not end before the last is sent
            stream = client.submissions()
            await stream.send(*(client.request(s) for s in (1, 2)), client.request(3, b""), client.request(4))
            await eventually(lambda: client.hold.links[0].count == 2)
            journal.commit()
            assert [(await stream.answer()).round for _ in range(2)] == [1, 2]
            error = await refusal(stream.answer())
            assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert client.sample("rejected_total", agent="0", reason="payload") == 1
            assert client.hold.links[0].count == 2  # what comes after a refusal is not taken

    run(test())


def test_a_conflict_names_the_agent_that_it_is_about() -> None:
    async def test() -> None:
        async with broker(scenario("wall", {"type": "latency", "latency": "1h"})) as client:
            stream = client.submissions()  # one stream may carry the feedback of several agents
            await stream.submit(client.request(1, agent=0))
            await stream.submit(client.request(1, agent=2))
            await stream.send(client.request(1, b"another", agent=2))
            error = await refusal(stream.answer())
            assert error.code() == grpc.StatusCode.ALREADY_EXISTS
            assert "agent 2 submitted round 1 before" in error.details()
            assert client.sample("rejected_total", agent="2", reason="conflict") == 1

    run(test())
