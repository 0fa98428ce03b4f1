"""Peer links over real gRPC streams on loopback, and over streams that misbehave."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
import pytest
from peer_nodes import ME, K, Node, dialling, exchange, frame, hello
from waiting import PATIENCE

from edgefw.transport import connection
from edgefw.transport.channel import LARGEST_MESSAGE
from edgefw.transport.codec import encode_frame
from edgefw.v1 import peer_service_pb2 as pb
from edgefw.v1 import peer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


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
    good = encode_frame(frame(1, 1))
    for name, value in changes.items():
        if name == "shape":
            good.iterate.dense.shape[:] = value
        elif name == "data":
            good.iterate.dense.data = value
        else:
            setattr(good, name, value)
    return good


@pytest.mark.parametrize(
    ("message", "reason"),
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
def test_a_wrong_frame_ends_the_stream_is_counted_and_the_agent_goes_on(
    message: pb.Frame, reason: str
) -> None:
    async def body(node: Node) -> None:
        first = pb.ExchangeRequest(hello=hello())
        code, _, answers = await converse(node, first, pb.ExchangeRequest(frame=message))
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert answers[0].hello.agent == ME.agent
        assert node.rejected("0", reason) == 1
        # ... and a good stream is served as if nothing had been
        good = asyncio.create_task(converse(node, first, pb.ExchangeRequest(frame=encode_frame(frame(1, 1)))))
        assert (await node.links[0].receive(1, 1)).t == 1
        good.cancel()

    run(body)


def test_a_frame_before_the_hello_and_a_second_hello_are_refused() -> None:
    async def body(node: Node) -> None:
        code, _, _ = await converse(node, pb.ExchangeRequest(frame=encode_frame(frame(1, 1))))
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
            converse(
                node, pb.ExchangeRequest(hello=hello()), pb.ExchangeRequest(frame=encode_frame(frame(1, 1)))
            )
        )
        assert (await node.links[0].receive(1, 1)).t == 1
        good.cancel()

    run(body)


def test_more_than_two_frames_ahead_are_refused() -> None:
    async def body(node: Node) -> None:
        ahead = [pb.ExchangeRequest(frame=encode_frame(frame(1, k))) for k in (1, 2, 3)]
        code, _, _ = await converse(node, pb.ExchangeRequest(hello=hello()), *ahead)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert node.rejected("0", "unexpected") == 1

    run(body)
