"""Agents that only gossip: a real server with the links of one agent, and frames by hand."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from prometheus_client import CollectorRegistry

from edgefw.core.messages import Frame
from edgefw.telemetry.metrics import AgentMetrics
from edgefw.transport.channel import GRPC
from edgefw.transport.codec import encode_array, encode_tensor
from edgefw.transport.frames import encode_frame
from edgefw.transport.peer_link import Identity, PeerLink, Reach
from edgefw.transport.peers import PeerServicer, add_peer_servicer, keep_dialling
from edgefw.transport.server import RpcServer
from edgefw.v1 import peer_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edgefw.transport.seam import Transport

K, SHAPE = 3, (2, 4)
ME = Identity(agent=1, run_id="d" * 32, K=K, shape=SHAPE)


class Node:
    """Agent 1 with neighbours 0 (who dials) and 2."""

    def __init__(
        self,
        me: Identity = ME,
        neighbours: tuple[int, ...] = (0, 2),
        transport: Transport = GRPC,
        reach: Reach | None = None,
    ) -> None:
        self._transport = transport
        self.registry = CollectorRegistry()
        self.metrics = AgentMetrics(self.registry, me.agent)
        self.me = me
        self.links = {j: PeerLink(me, j, self.metrics, reach) for j in neighbours}
        self.server: RpcServer | None = None
        self.port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self, port: int = 0) -> None:
        self.server, servicer = RpcServer(self._transport), PeerServicer(self.me, self.links, self.metrics)
        self.port = await self.server.start(f"127.0.0.1:{port}", partial(add_peer_servicer, servicer))

    async def stop(self) -> None:
        assert self.server is not None
        await self.server.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def rejected(self, peer: str, reason: str) -> float:
        labels = {"agent": str(self.me.agent), "peer": peer, "reason": reason}
        return self.registry.get_sample_value("edgefw_agent_peer_rejected_total", labels) or 0.0


def frame(t: int, k: int, agent: int = 0, value: float = 1.0) -> Frame:
    return Frame(agent, t, k, np.full(SHAPE, value, dtype=np.float32), None)


def message(frame: Frame) -> pb.Frame:
    """Return a frame as the generated code has it."""
    tracker = None if frame.tracker is None else encode_tensor(frame.tracker)
    return pb.Frame(round=frame.t, step=frame.k, iterate=encode_array(frame.iterate), tracker=tracker)


def hello(**changes: Any) -> pb.Hello:
    fields: dict[str, Any] = {
        "protocol_version": 1,
        "agent": 0,
        "run_id": ME.run_id,
        "resume_round": 1,
        "resume_step": 1,
    }
    return pb.Hello(**(fields | changes))


@asynccontextmanager
async def dialling(node: Node, peer: int, address: str) -> AsyncIterator[PeerLink]:
    """Let a node dial a neighbour while the block runs; yield its link."""
    link = node.links[peer]
    task = asyncio.create_task(keep_dialling(node.me, link, address, node.metrics))
    try:
        yield link
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def exchange(one: PeerLink, other: PeerLink, t: int, k: int) -> None:
    """Let two neighbours exchange their frames (t, k)."""
    one.send(encode_frame(frame(t, k)))
    other.send(encode_frame(frame(t, k)))
    for link in (one, other):
        assert (await link.receive(t, k)).k == k
