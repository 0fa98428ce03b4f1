"""Peer links over real gRPC streams on loopback, and over streams that misbehave."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import grpc
import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from edgefw.core.messages import Frame
from edgefw.telemetry.metrics import AgentMetrics
from edgefw.transport.channel import LARGEST_MESSAGE
from edgefw.transport.codec import encode_frame
from edgefw.transport.peers import SERVICE_NAME, Identity, PeerLink, PeerServicer, keep_dialling
from edgefw.transport.server import GrpcServer
from edgefw.v1 import peer_service_pb2 as pb
from edgefw.v1 import peer_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

K, SHAPE = 3, (2, 4)
ME = Identity(agent=1, digest="d" * 32, K=K, shape=SHAPE)
PATIENCE = 5.0


class Node:
    """Agent 1 with neighbours 0 (who dials) and 2."""

    def __init__(self, me: Identity = ME, neighbours: tuple[int, ...] = (0, 2)) -> None:
        self.registry = CollectorRegistry()
        self.metrics = AgentMetrics(self.registry, me.agent)
        self.me = me
        self.links = {j: PeerLink(me, j, self.metrics) for j in neighbours}
        self.server = GrpcServer()
        self.port = 0

    async def __aenter__(self) -> Self:
        servicer = PeerServicer(self.me, self.links, self.metrics)
        add = lambda s: peer_service_pb2_grpc.add_PeerServiceServicer_to_server(servicer, s)  # noqa: E731
        self.port = await self.server.start("127.0.0.1:0", [(SERVICE_NAME, add)])
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.stop()

    def rejected(self, peer: str, reason: str) -> float:
        labels = {"agent": str(self.me.agent), "peer": peer, "reason": reason}
        return self.registry.get_sample_value("edgefw_agent_peer_rejected_total", labels) or 0.0


def frame(t: int, k: int, agent: int = 0, value: float = 1.0) -> Frame:
    return Frame(agent, t, k, np.full(SHAPE, value, dtype=np.float32), None)


def hello(**changes: Any) -> pb.Hello:
    fields: dict[str, Any] = {
        "protocol_version": 1,
        "agent": 0,
        "scenario_digest": ME.digest,
        "resume_round": 1,
        "resume_step": 1,
    }
    return pb.Hello(**(fields | changes))


def run(test: Callable[[Node], Awaitable[None]]) -> None:
    async def body() -> None:
        async with asyncio.timeout(4 * PATIENCE), Node() as node:
            await test(node)

    asyncio.run(body())


async def converse(
    node: Node, *messages: pb.ExchangeRequest
) -> tuple[grpc.StatusCode, str, list[pb.ExchangeResponse]]:
    """Send messages on a stream of our own; return how the stream ended, and what was answered."""
    answers = []
    async with grpc.aio.insecure_channel(f"127.0.0.1:{node.port}") as channel:
        call = peer_service_pb2_grpc.PeerServiceStub(channel).Exchange(timeout=PATIENCE)
        try:
            for message in messages:
                await call.write(message)
            while (answer := await call.read()) is not grpc.aio.EOF:
                answers.append(answer)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass
        return await call.code(), await call.details(), answers


def test_frames_cross_an_edge_both_ways_in_order() -> None:
    async def body() -> None:
        zero = Node(replace(ME, agent=0), (1,))
        async with asyncio.timeout(4 * PATIENCE), Node(neighbours=(0,)) as one:
            dialling = asyncio.create_task(
                keep_dialling(zero.me, zero.links[1], f"127.0.0.1:{one.port}", zero.metrics)
            )
            for t in (1, 2):
                for k in (1, 2, 3):
                    zero.links[1].send(frame(t, k, 0, value=t + k / 10))
                    one.links[0].send(frame(t, k, 1, value=-t - k / 10))
                    at_one = await one.links[0].receive(t, k)
                    at_zero = await zero.links[1].receive(t, k)
                    assert (at_one.agent, at_one.t, at_one.k) == (0, t, k)
                    assert np.array_equal(at_one.iterate, frame(t, k, value=t + k / 10).iterate)
                    assert np.array_equal(at_zero.iterate, frame(t, k, value=-t - k / 10).iterate)
            dialling.cancel()

    asyncio.run(body())


def test_a_broken_stream_is_dialled_again_and_nothing_is_lost_or_sent_twice() -> None:
    async def body() -> None:
        zero = Node(replace(ME, agent=0), (1,))
        async with asyncio.timeout(8 * PATIENCE):
            one = Node(neighbours=(0,))
            await one.__aenter__()
            dialling = asyncio.create_task(
                keep_dialling(zero.me, zero.links[1], f"127.0.0.1:{one.port}", zero.metrics)
            )
            zero.links[1].send(frame(1, 1))
            one.links[0].send(frame(1, 1, 1))
            await one.links[0].receive(1, 1)
            await zero.links[1].receive(1, 1)
            await one.server.stop()
            zero.links[1].send(frame(1, 2))  # while there is no stream
            one.links[0].send(frame(1, 2, 1))
            again, one.server = one.port, GrpcServer()
            servicer = PeerServicer(one.me, one.links, one.metrics)
            add = lambda s: peer_service_pb2_grpc.add_PeerServiceServicer_to_server(servicer, s)  # noqa: E731
            await one.server.start(f"127.0.0.1:{again}", [(SERVICE_NAME, add)])
            assert (await one.links[0].receive(1, 2)).k == 2
            assert (await zero.links[1].receive(1, 2)).k == 2
            assert one.rejected("0", "unexpected") == 0
            dialling.cancel()
            await one.server.stop()

    asyncio.run(body())


@pytest.mark.parametrize(
    ("changes", "reason", "peer", "named"),
    [
        ({"scenario_digest": "e" * 32}, "digest", "unknown", ["e" * 32, "d" * 32]),
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
