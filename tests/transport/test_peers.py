"""Peer links over real gRPC streams on loopback, and over streams that misbehave."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
import pytest
from peer_nodes import ME, K, Node, dialling, exchange, frame, hello, message
from waiting import PATIENCE

from edgefw.transport import connection
from edgefw.transport.channel import LARGEST_MESSAGE
from edgefw.transport.frames import encode_frame
from edgefw.transport.peer_link import Reach
from edgefw.v1 import peer_service_pb2 as pb
from edgefw.v1 import peer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


def run(test: Callable[[Node], Awaitable[None]]) -> None:
    async def body() -> None:
        async with asyncio.timeout(PATIENCE), Node() as node:
            await test(node)

    asyncio.run(body())


async def converse(
    node: Node, *messages: pb.ExchangeRequest
) -> tuple[grpc.StatusCode, str, list[pb.ExchangeResponse]]:
    """Send messages on a stream of our own; return how the stream ended, and what was answered."""
    answers = []
    async with grpc.aio.insecure_channel(node.address) as channel:
        call = peer_service_pb2_grpc.PeerServiceStub(channel).Exchange(timeout=PATIENCE)
        try:
            for message in messages:
                await call.write(message)
            while (answer := await call.read()) is not grpc.aio.EOF:
                answers.append(answer)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass
        return await call.code(), await call.details(), answers


def run_edge(test: Callable[[Node, Node], Awaitable[None]]) -> None:
    """Run a test on two neighbours: agent 0 dials agent 1."""

    async def body() -> None:
        zero = Node(replace(ME, agent=0), (1,))
        async with (
            asyncio.timeout(PATIENCE),
            Node(neighbours=(0,)) as one,
            dialling(zero, 1, one.address),
        ):
            await test(zero, one)

    asyncio.run(body())


def test_frames_cross_an_edge_both_ways_in_order() -> None:
    async def body(zero: Node, one: Node) -> None:
        for t in (1, 2):
            for k in (1, 2, 3):
                zero.links[1].send(encode_frame(frame(t, k, 0, value=t + k / 10)))
                one.links[0].send(encode_frame(frame(t, k, 1, value=-t - k / 10)))
                at_one = await one.links[0].receive(t, k)
                at_zero = await zero.links[1].receive(t, k)
                assert (at_one.agent, at_one.t, at_one.k) == (0, t, k)
                assert np.array_equal(at_one.iterate, frame(t, k, value=t + k / 10).iterate)
                assert np.array_equal(at_zero.iterate, frame(t, k, value=-t - k / 10).iterate)

    run_edge(body)


def test_a_broken_stream_is_dialled_again_and_nothing_is_lost_or_sent_twice() -> None:
    async def body(zero: Node, one: Node) -> None:
        await exchange(zero.links[1], one.links[0], 1, 1)
        await one.stop()
        zero.links[1].send(encode_frame(frame(1, 2)))  # while there is no stream
        one.links[0].send(encode_frame(frame(1, 2, 1)))
        await one.start(one.port)
        assert (await one.links[0].receive(1, 2)).k == 2
        assert (await zero.links[1].receive(1, 2)).k == 2
        assert one.rejected("0", "unexpected") == 0

    run_edge(body)


@pytest.mark.parametrize(
    "resume", [(9, 1), (1, 3), (1, 1), (0, 1), (1, 0), (1, K + 1), (2**32 - 1, 2**32 - 1)], ids=str
)
def test_a_hello_that_cannot_be_the_neighbours_changes_nothing(resume: tuple[int, int]) -> None:
    """Both have exchanged (1, 1) and (1, 2) is under way: agent 0 can need (1, 2) alone."""

    async def body(zero: Node, one: Node) -> None:
        await exchange(zero.links[1], one.links[0], 1, 1)
        zero.links[1].send(encode_frame(frame(1, 2)))
        await one.links[0].receive(1, 2)
        stands = one.links[0]._stream
        foreign = pb.ExchangeRequest(hello=hello(resume_round=resume[0], resume_step=resume[1]))
        code, details, answers = await converse(one, foreign)
        assert (code, answers) == (grpc.StatusCode.FAILED_PRECONDITION, [])
        assert f"agent 0 needs frames from {resume} on" in details
        await converse(one, foreign, pb.ExchangeRequest(frame=bad_frame(step=9)))
        assert one.rejected("0", "resume") == 2
        assert one.links[0]._stream is stands
        one.links[0].send(encode_frame(frame(1, 2, 1)))
        assert (await zero.links[1].receive(1, 2)).k == 2
        await exchange(zero.links[1], one.links[0], 1, 3)

    run_edge(body)


BACK = Reach(back=4 * K)  # neighbours go back by four rounds at most


@asynccontextmanager
async def long_edge(rounds: int) -> AsyncIterator[tuple[Node, Node]]:
    """Agents 0 and 1 after some rounds; whoever is killed comes back."""
    zero, one = Node(replace(ME, agent=0), (1,), reach=BACK), Node(ME, (0,), reach=BACK)
    async with one, dialling(zero, 1, one.address):
        for t in range(1, rounds + 1):
            for k in range(1, K + 1):
                await exchange(zero.links[1], one.links[0], t, k)
        yield zero, one


def test_a_neighbour_that_comes_back_gets_all_frames_since_its_checkpoint_and_nobody_gets_one_twice() -> None:
    async def test() -> None:
        async with long_edge(6) as (_, one):
            back = Node(replace(ME, agent=0), (1,), reach=replace(BACK, start=3))
            async with dialling(back, 1, one.address) as link:
                for t in (4, 5, 6):
                    for k in range(1, K + 1):
                        link.send(encode_frame(frame(t, k)))
                        assert (await link.receive(t, k)).k == k
                await exchange(link, one.links[0], 7, 1)
                assert one.rejected("0", "unexpected") == 0

    asyncio.run(test())


def test_one_that_came_back_is_told_of_a_neighbour_that_goes_back_further() -> None:
    async def test() -> None:
        behind: list[int] = []
        young = Node(ME, (0,), reach=Reach(start=6, back=4 * K, behind=behind.append))
        async with young:
            code, details, _ = await converse(young, pb.ExchangeRequest(hello=hello(resume_round=4)))
            assert code is grpc.StatusCode.FAILED_PRECONDITION
            assert "agent 0 needs frames from (4, 1) on, which cannot be: from (7, 1)" in details
            assert behind == [4]
            await converse(young, pb.ExchangeRequest(hello=hello(resume_round=99)))
            assert behind == [4]

    asyncio.run(test())


def test_of_a_neighbour_that_is_ahead_no_more_frames_are_taken_than_it_says_it_has() -> None:
    async def test() -> None:
        async with Node(ME, (0,), reach=BACK) as node:
            first = pb.ExchangeRequest(hello=hello(resume_round=2))  # it has sent (2, 1)
            numbers = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
            frames = [pb.ExchangeRequest(frame=message(frame(t, k))) for t, k in numbers]
            code, details, _ = await converse(node, first, *frames)
            assert code is grpc.StatusCode.INVALID_ARGUMENT
            assert "agent 0 sent (t, k) = (2, 2)" in details
            for t, k in numbers[:-1]:
                assert (await node.links[0].receive(t, k)).k == k

    asyncio.run(test())


def test_a_stream_whose_place_was_taken_ends_and_its_neighbour_dials_again() -> None:
    async def body(zero: Node, one: Node) -> None:
        await exchange(zero.links[1], one.links[0], 1, 1)
        first = zero.links[1]._stream
        foreign = hello(resume_round=1, resume_step=2)  # as agent 0 would say it
        bad = pb.ExchangeRequest(frame=bad_frame(step=9))
        code, _, _ = await converse(one, pb.ExchangeRequest(hello=foreign), bad)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        await exchange(zero.links[1], one.links[0], 1, 2)
        assert zero.links[1]._stream is not first
        assert one.rejected("0", "replaced") == 0  # it was no fault of agent 0

    run_edge(body)


def test_a_stream_that_does_not_say_hello_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FIRST_MESSAGE", 0.01)

    async def body(node: Node) -> None:
        code, details, _ = await converse(node)
        assert code is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "no Hello within" in details
        assert node.rejected("unknown", "silent") == 1

    run(body)


@pytest.mark.parametrize(
    ("changes", "reason", "peer", "named"),
    [
        ({"run_id": "e" * 32}, "digest", "unknown", ["e" * 32, "d" * 32]),
        ({"protocol_version": 9}, "version", "unknown", ["9", "1"]),
        ({"agent": 7}, "agent", "unknown", ["7", "[0]"]),
        ({"agent": 2}, "agent", "unknown", ["2"]),  # a neighbour, but one that we dial
    ],
)
def test_a_wrong_hello_ends_the_stream_and_names_both_sides(
    changes: dict[str, Any], reason: str, peer: str, named: list[str]
) -> None:
    async def body(node: Node) -> None:
        code, details, _ = await converse(node, pb.ExchangeRequest(hello=hello(**changes)))
        assert code is grpc.StatusCode.FAILED_PRECONDITION
        assert all(word in details for word in named)
        assert node.rejected(peer, reason) == 1

    run(body)


def bad_frame(**changes: Any) -> pb.Frame:
    good = message(frame(1, 1))
    for name, value in changes.items():
        if name == "shape":
            good.iterate.dense.shape[:] = value
        elif name == "data":
            good.iterate.dense.data = value
        else:
            setattr(good, name, value)
    return good


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (bad_frame(shape=[4, 2]), "shape"),
        (bad_frame(data=b"123"), "length"),
        (bad_frame(data=b"\0" * 4000), "oversize"),
        (bad_frame(data=np.full(8, np.nan, "<f4").tobytes()), "not_finite"),
        (bad_frame(step=2), "unexpected"),
        (bad_frame(round=2), "unexpected"),
        (bad_frame(step=0), "unexpected"),
        (bad_frame(step=K + 1), "unexpected"),
    ],
)
def test_a_wrong_frame_ends_the_stream_is_counted_and_the_agent_goes_on(bad: pb.Frame, reason: str) -> None:
    async def body(node: Node) -> None:
        first = pb.ExchangeRequest(hello=hello())
        code, _, answers = await converse(node, first, pb.ExchangeRequest(frame=bad))
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert answers[0].hello.agent == ME.agent
        assert node.rejected("0", reason) == 1
        # ... and a good stream is served as if nothing had been
        good = asyncio.create_task(converse(node, first, pb.ExchangeRequest(frame=message(frame(1, 1)))))
        assert (await node.links[0].receive(1, 1)).t == 1
        good.cancel()

    run(body)


def test_a_frame_before_the_hello_and_a_second_hello_are_refused() -> None:
    async def body(node: Node) -> None:
        code, _, _ = await converse(node, pb.ExchangeRequest(frame=message(frame(1, 1))))
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        twice = [pb.ExchangeRequest(hello=hello())] * 2
        code, _, _ = await converse(node, *twice)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert node.rejected("unknown", "hello") == 1
        assert node.rejected("0", "content") == 1

    run(body)


def test_an_oversize_message_ends_the_stream() -> None:
    async def body(node: Node) -> None:
        huge = bad_frame(data=b"\0" * (LARGEST_MESSAGE + 1))
        code, _, _ = await converse(node, pb.ExchangeRequest(hello=hello()), pb.ExchangeRequest(frame=huge))
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        good = asyncio.create_task(
            converse(node, pb.ExchangeRequest(hello=hello()), pb.ExchangeRequest(frame=message(frame(1, 1))))
        )
        assert (await node.links[0].receive(1, 1)).t == 1
        good.cancel()

    run(body)


def test_more_than_two_frames_ahead_are_refused() -> None:
    async def body(node: Node) -> None:
        ahead = [pb.ExchangeRequest(frame=message(frame(1, k))) for k in (1, 2, 3)]
        code, _, _ = await converse(node, pb.ExchangeRequest(hello=hello()), *ahead)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert node.rejected("0", "unexpected") == 1

    run(body)
