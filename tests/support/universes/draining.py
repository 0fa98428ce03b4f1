"""The end of a universe: what the broker still holds is asked for, so that all can be counted."""

from __future__ import annotations

import asyncio
from itertools import combinations
from typing import TYPE_CHECKING

from edgefw.transport.broker_client import BrokerClient
from edgefw.transport.race import end_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from universes.world import World

PATIENCE = 100.0  # seconds for anything: a commit may take eleven, a delay less than two
_LOOK = 0.1
_DOWN = 3.0  # seconds after which a broker that was killed has been started again


async def drain(world: World) -> None:
    """Have a broker that serves, and take from it all that it owes (wall clock)."""
    _heal(world)
    await asyncio.sleep(_DOWN)
    await _until(world, lambda: _serves(world), "the broker does not serve")
    if world.universe.reopened:
        world.say("the broker is stopped and started again")
        await world.stop_broker()
        world.start_broker()
        await _until(world, lambda: _serves(world), "the broker does not serve")
    if world.universe.clock == "wall" and not world.violations:
        await _take_all(world)
    await _until(world, world.checks.is_written, "the journal is never done")
    world.checks.broker()


def _heal(world: World) -> None:
    """End all that is wrong with the world."""
    world.disk.full = False
    for life in world.lives:
        if life.paused and not life.dead:
            world.loop.resume(life)
    for one, other in combinations({life.name for life in world.lives}, 2):
        world.network.heal(one, other)


def _serves(world: World) -> bool:
    """Whether broker and observer do."""
    return {world.places.broker.address, world.places.observer.address} <= world.network.servers.keys()


async def _until(world: World, done: Callable[[], bool], otherwise: str) -> None:
    """Wait until something is so; it is wrong if that takes too long."""
    deadline = world.loop.time() + PATIENCE
    while not done() and not world.violations:
        if world.loop.time() > deadline:
            world.violated(otherwise)
        await asyncio.sleep(_LOOK)


async def _take_all(world: World) -> None:
    """Remove every fault and subscribe as every agent, until nothing is held."""
    numbers, transport = range(world.universe.agents), world.network
    await world.admin.insist("POST", "/reset")
    for agent in numbers:
        await world.admin.insist("PATCH", f"/links/{agent}", {"enabled": True})
    clients = [BrokerClient(world.places.broker.address, i, world.run_id, transport) for i in numbers]
    tasks = [asyncio.create_task(_take(client)) for client in clients]
    await _until(world, lambda: not world.checks.holds(), "feedback is held for ever, and no fault is left")
    await end_all(tasks)
    for client in clients:
        await client.close()


async def _take(client: BrokerClient) -> None:
    async for _ in client.deliveries():
        pass
