"""Who is waited for, on a clock of the test's own; links have no streams, frames are put in by hand."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest
from peer_nodes import ME, frame
from prometheus_client import CollectorRegistry

from edgefw.services.agent.neighbours import Neighbours
from edgefw.telemetry.metrics import AgentMetrics
from edgefw.transport.frames import encode_frame
from edgefw.transport.peer_link import PeerLink
from edgefw.virtual import loop as virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.core.messages import Frame


class Edges:
    """Agent 1 with neighbours 0, 2 and 3, and what it exports."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        metrics = AgentMetrics(self._registry, 1)
        self.links = {j: PeerLink(ME, j, metrics) for j in (0, 2, 3)}
        self.neighbours = Neighbours(1, self.links, 3.0, metrics)

    def send(self, *peers: int, k: int = 1) -> None:
        """Let neighbours' frames come."""
        for j in peers:
            self.links[j].take(encode_frame(frame(1, k, j, value=j)).data)

    def waiting(self) -> dict[int, float]:
        """Return for how long whom is waited for, as a metric says it; the others at 0 or not yet there."""
        found = {j: self._sample("waiting_seconds", j) for j in self.links}
        return {j: seconds for j, seconds in found.items() if seconds}

    def waits(self, j: int) -> float | None:
        return self._sample("exchange_wait_seconds_count", j)

    def _sample(self, name: str, j: int) -> float | None:
        labels = {"agent": "1", "peer": str(j)}
        return self._registry.get_sample_value(f"edgefw_agent_{name}", labels)


def exchanging(edges: Edges) -> asyncio.Task[dict[int, Frame]]:
    return asyncio.create_task(edges.neighbours.exchange(frame(1, 1, 1)))


def test_frames_come_by_neighbour_in_whichever_order() -> None:
    async def test() -> None:
        edges = Edges()
        exchange = exchanging(edges)
        for j in (3, 0, 2):
            await asyncio.sleep(0.5)
            edges.send(j)
        frames = await exchange
        assert {j: (got.agent, got.iterate[0, 0]) for j, got in frames.items()} == {
            0: (0, 0),
            2: (2, 2),
            3: (3, 3),
        }
        assert edges.neighbours.messages == 3
        assert [edges.waits(j) for j in edges.links] == [1, 1, 1]

    virtual_time.run(test())


def test_everyone_who_is_silent_is_named_in_log_and_metric(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        edges = Edges()
        exchange = exchanging(edges)
        edges.send(2)
        await asyncio.sleep(1.5)
        assert edges.waiting() == {0: pytest.approx(1.0), 3: pytest.approx(1.0)}
        assert said(caplog, logging.WARNING) == ["agent 0", "agent 3"]
        edges.send(0)
        await asyncio.sleep(1.0)
        assert edges.waiting() == {3: pytest.approx(2.0)}
        assert said(caplog, logging.WARNING) == ["agent 0", "agent 3", "agent 3"]
        await asyncio.sleep(2.0)
        assert said(caplog, logging.ERROR) == ["agent 3"]  # longer than its time
        edges.send(3)
        await exchange
        assert edges.waiting() == {}

    virtual_time.run(test())


def said(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """Return for whom the agent waits by its log, in order."""
    lines = [record.getMessage() for record in caplog.records if record.levelno == level]
    assert all(line.startswith("agent 1 waits for agent ") for line in lines)
    return [" ".join(line.split()[4:6]) for line in lines]


def test_who_was_silent_for_just_as_long_as_it_takes_to_say_so_is_not_left_as_silent() -> None:
    async def test() -> None:
        edges = Edges()
        exchange = exchanging(edges)
        edges.send(0, 2)
        await asyncio.sleep(1.0)
        await turns(lambda: bool(edges.waiting()))
        edges.send(3)
        await exchange
        assert edges.waiting() == {}

    virtual_time.run(test())


async def turns(condition: Callable[[], bool]) -> None:
    """Let the loop turn, without any time going by, until something is so."""
    for _ in range(100):
        if condition():
            return
        await asyncio.sleep(0)
    pytest.fail("it never came")


def test_giving_up_an_exchange_leaves_nobody_waiting() -> None:
    async def test() -> None:
        edges = Edges()
        exchange = exchanging(edges)
        edges.send(2)
        await asyncio.sleep(0.1)
        exchange.cancel()
        with pytest.raises(asyncio.CancelledError):
            await exchange
        assert asyncio.all_tasks() == {asyncio.current_task()}
        edges.send(0, 3)  # nobody expects them any more: they stay where they are
        assert [edges.waits(j) for j in edges.links] == [None, 1, None]
        assert (await edges.links[3].receive(1, 1)).agent == 3
        await asyncio.sleep(2.0)
        assert edges.waiting() == {}

    virtual_time.run(test())


def test_frames_that_are_there_are_not_waited_for() -> None:
    async def test() -> None:
        edges = Edges()
        edges.send(0, 2, 3)
        exchange = edges.neighbours.exchange(frame(1, 1, 1))
        with pytest.raises(StopIteration) as over:
            exchange.send(None)  # it ends without ever letting go
        assert list(over.value.value) == [0, 2, 3]

    virtual_time.run(test())
