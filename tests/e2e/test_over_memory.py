"""The real agents, broker and observer, all in one process over the memory transport."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from emulated import Emulated
from waiting import PATIENCE

from edgefw.records import RunFolder
from edgefw.scenario.load import dump, load
from edgefw.services.agent import service as agent
from edgefw.services.broker import process as broker
from edgefw.services.network.ports import loopback_places
from edgefw.services.observer import service as observer
from edgefw.transport.memory import MemoryNetwork

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT: Mapping[str, object] = {
    "network.agents": 8,
    "clock": "rounds",
    "delays": "[{agents: [2, 5], type: rounds, rounds: 4, jitter: 3}, {type: drop, probability: 0.2}]",
    "data.source": "synthetic",
    "data.samples": 2000,
    "algorithm.horizon": 100,
    "algorithm.stop_after": 12,
    "pace": "asap",
}


async def together(scenario: str, out: Path) -> None:
    """Run every service of a scenario to the end, none of them on a socket but for its metrics."""
    network, stop, agents = MemoryNetwork(), asyncio.Event(), load(scenario).network.agents
    with loopback_places(agents) as places:
        config = observer.ObserverConfig(scenario, places.observer, out=out, transport=network)
        seeing = asyncio.create_task(observer.serve(config, stop))
        options = broker.BrokerOptions(places.broker, None, transport=network, alone=False)
        address = places.observer.address
        holding = asyncio.create_task(
            broker.serve_joined(address, places.broker.address, options, over := asyncio.Event())
        )
        playing = [
            agent.serve(agent.AgentOptions(i, address, place, place.address, transport=network), stop)
            for i, place in enumerate(places.agents)
        ]
        await asyncio.gather(*playing, seeing)
        over.set()
        await holding


def plays(path: Path) -> list[tuple[Any, ...]]:
    rows = RunFolder(path).rows()
    return [(row.round, row.agent, row.hash, row.arrivals, row.local_loss, row.global_loss) for row in rows]


@pytest.mark.slow
def test_services_over_memory_play_what_they_play_over_grpc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    apart = Emulated(tmp_path, fields=DEFAULT)
    try:
        apart.run()
    finally:
        apart.close()
    written = tmp_path / "scenario.yaml"
    written.write_text(dump(load(str(apart.path / "scenario.yaml"))))
    asyncio.run(asyncio.wait_for(together(str(written), tmp_path / "together"), 4 * PATIENCE))
    assert plays(tmp_path / "together") == plays(apart.path)
    assert len(plays(apart.path)) == 8 * 12
    apart.edgefw("verify", str(tmp_path / "together"))
