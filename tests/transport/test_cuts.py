"""Services behind a network that is cut, healed and slow, over real sockets and with the real time limits.

A healed network forgets the connections from before, as one does whose ends have got other addresses.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from loopback_broker import broker, run, scenario
from names import names
from peer_nodes import ME, Node, dialling, exchange
from proxy import proxy

from edgefw.transport.broker_client import BrokerClient
from edgefw.transport.joining import join
from edgefw.transport.observer_client import ObserverClient
from edgefw.transport.server import RpcServer
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1 import observer_service_pb2_grpc as stubs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edgefw.core.messages import Score


class Observing(stubs.ObserverServiceServicer):
    """An observer that takes everyone in and scores every play with its round."""

    async def Join(self, request: Any, context: Any) -> None:  # noqa: N802
        joined = pb.Joined(run_id="run", configuration=request.address.encode())
        await context.write(pb.JoinResponse(joined=joined))
        await context.write(pb.JoinResponse(samples=b"samples"))

    async def Report(self, _requests: Any, context: Any) -> None:  # noqa: N802
        await context.read()
        while (request := await context.read()).WhichOneof("content") == "play":
            t = request.play.round
            await context.write(pb.ReportResponse(round=t, global_loss=t, cumulative_loss=t))


@asynccontextmanager
async def observing() -> AsyncIterator[str]:
    server = RpcServer()
    add = partial(stubs.add_ObserverServiceServicer_to_server, Observing())
    port = await server.start("127.0.0.1:0", add)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop()


def test_joining_takes_one_connection_where_connecting_takes_long() -> None:
    async def test() -> None:
        async with observing() as address, proxy(address, latency=0.3) as network:
            joined = await join(network.address, "agent-0:1", 9464, 0)
            assert (joined.configuration, joined.samples) == (b"agent-0:1", b"samples")
            assert network.connections == 1

    run(test())


def test_neighbours_go_on_where_they_were_when_a_cut_is_healed() -> None:
    async def test() -> None:
        zero = Node(replace(ME, agent=0), (1,))
        async with (
            Node(neighbours=(0,)) as one,
            proxy(one.address) as network,
            dialling(zero, 1, network.address) as link,
        ):
            await exchange(link, one.links[0], 1, 1)
            network.cut()
            going_on = asyncio.create_task(exchange(link, one.links[0], 1, 2))
            network.heal(forget=True)
            await going_on
            await exchange(link, one.links[0], 1, 3)

    run(test())


def test_a_neighbour_that_comes_back_at_another_address_is_found_by_its_name() -> None:
    async def test() -> None:
        zero = Node(replace(ME, agent=0), (1,))
        async with (
            Node(neighbours=(0,)) as one,
            names("127.0.0.1") as book,
            proxy(one.address) as before,
            proxy(one.address, host="127.0.0.2", port=before.port) as after,
            dialling(zero, 1, book.address(before.port)) as link,
        ):
            await exchange(link, one.links[0], 1, 1)
            before.cut()
            book.host = "127.0.0.2"
            await exchange(link, one.links[0], 1, 2)
            assert after.connections > 0

    run(test())


def test_feedback_goes_to_the_broker_and_comes_back_when_a_cut_is_healed() -> None:
    async def test() -> None:
        async with broker(scenario()) as server, proxy(server.address) as network:
            agent = BrokerClient(network.address, 0, server.run_id)
            deliveries = agent.deliveries()
            await agent.submit(1, b"first", 1.0)
            assert (await anext(deliveries)).payload == b"first"
            network.cut()
            submitting = asyncio.create_task(agent.submit(2, b"second", 1.0))
            network.heal(forget=True)
            while (came := await anext(deliveries)).payload != b"second":
                assert came.payload == b"first"  # it was not acknowledged: it comes again
            await submitting
            await deliveries.aclose()  # type: ignore[attr-defined]
            await agent.close()

    run(test())


def test_what_arrives_in_a_round_is_collected_when_a_cut_is_healed() -> None:
    async def test() -> None:
        async with broker(scenario("rounds")) as server, proxy(server.address) as network:
            agent = BrokerClient(network.address, 0, server.run_id)
            await agent.submit(1, b"first", 1.0)
            network.cut()
            collecting = asyncio.create_task(agent.collect(1))
            network.heal(forget=True)
            assert [delivery.payload for delivery in await collecting] == [b"first"]
            await agent.close()

    run(test())


def test_plays_are_reported_when_a_cut_is_healed() -> None:
    async def test() -> None:
        scores: list[Score] = []
        async with observing() as address, proxy(address) as network:
            client = ObserverClient(network.address, 0, "run", scores.append)
            reporting = asyncio.create_task(client.run())
            report(client, 1)
            await client.settled()
            network.cut()
            report(client, 2)
            network.heal(forget=True)
            await client.settled()
            assert [score.round for score in scores] == [1, 2]
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)

    run(test())


def report(client: ObserverClient, t: int) -> None:
    point = np.zeros(ME.shape, np.float32)
    client.report(t, point, local_loss=0.0, arrivals=(), outstanding=0, messages=0, sent_bytes=0)
