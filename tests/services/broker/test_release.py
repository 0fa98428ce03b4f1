"""When the releaser wakes up."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from small_holds import payload, wall

from edgefw.services.broker.release import Releaser
from edgefw.services.clock import loop_time
from edgefw.telemetry.metrics import BrokerMetrics
from edgefw.virtual.loop import VirtualLoop, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

    from edgefw.delays.link import Held

LATE = {"type": "latency", "latency": "5s", "agents": [0]}


def test_it_wakes_for_what_is_due_and_for_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    hold, turns, seen = wall(LATE), list[float](), list[tuple[int, int, float]]()

    def released(some: Sequence[Held], now: float) -> None:
        seen.extend((held.agent, held.round, now - held.due) for held in some)

    def counted(now: float, release: Callable[[float], list[Held]] = hold.release) -> list[Held]:
        turns.append(now)
        return release(now)

    monkeypatch.setattr(hold, "release", counted)
    releaser = Releaser(hold, BrokerMetrics(CollectorRegistry()), released)

    def submit(agent: int, s: int) -> None:
        now = loop_time()
        hold.submit(agent, s, payload(agent, s), 1.0, now)
        releaser.wake(hold.next_due_of(agent) or math.inf, now)

    async def play() -> None:
        task = asyncio.create_task(releaser.run())
        await asyncio.sleep(0)
        for s in range(1, 5):  # due one after the other, from 5 s on
            submit(0, s)
            await asyncio.sleep(1)
        assert len(turns) == 2  # at the beginning, and for the first of them
        submit(1, 1)  # at once
        await asyncio.sleep(0.5)
        assert [(agent, s) for agent, s, _ in seen] == [(1, 1)]
        await asyncio.sleep(20)
        task.cancel()

    run(play())
    assert [(agent, s) for agent, s, _ in seen] == [(1, 1), *((0, s) for s in range(1, 5))]
    assert all(0 <= late < 0.002 for *_, late in seen)
    assert len(turns) < 12


def test_what_is_due_does_not_wait_for_a_timer_that_is_late() -> None:
    hold, seen = wall({"type": "latency", "latency": "5000.3ms"}), list[float]()
    releaser = Releaser(hold, BrokerMetrics(CollectorRegistry()), lambda _, now: seen.append(now))

    async def play() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        start = loop_time()
        hold.submit(0, 1, payload(0, 1), 1.0, start)
        task = asyncio.create_task(releaser.run())
        await asyncio.sleep(0)  # its timer counts milliseconds: it is for 5.001 s
        loop.jump(5.0005)
        releaser.wake(math.inf, loop_time())
        await asyncio.sleep(0)
        assert seen == [start + 5.0005]
        task.cancel()

    run(play())
