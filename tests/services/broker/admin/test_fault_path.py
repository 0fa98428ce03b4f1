"""A POSTed fault takes a short way: what docs/architecture.md draws, and little beside it."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from calls import calls
from loopback_broker import scenario
from prometheus_client import CollectorRegistry
from told_journal import ToldJournal

from edgefw.services.broker.account import Account
from edgefw.services.broker.admin.app import make_app
from edgefw.services.broker.control import Control
from edgefw.services.broker.restore import make_or_restore
from edgefw.telemetry.metrics import BrokerMetrics

SHORT = {
    "wall": {"type": "latency", "latency": "750ms", "jitter": "200ms", "duration": "30s"},
    "rounds": {"type": "rounds", "rounds": 5, "jitter": 2, "duration": 20},
}
MOST = 80  # calls: they were 165 by the wall clock, and 197, when a fault was described in four places


@pytest.mark.parametrize("clock", ["wall", "rounds"])
def test_a_posted_fault_is_in_force_after_few_calls(clock: str) -> None:
    async def test() -> list[str]:
        registry, journal = CollectorRegistry(), ToldJournal()
        hold = make_or_restore(scenario(clock, agents=6), journal)
        account = Account(journal.timeline, None)
        control = Control(hold, journal, BrokerMetrics(registry), registry, account)
        app: Any = make_app(control, token=None, names=frozenset({"broker"}))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://broker") as client:
            first = await client.post("/links/0/faults", json=SHORT[clock])  # what is made once is made
            with calls() as found:
                second = await client.post("/links/1/faults", json=SHORT[clock])
        assert (first.status_code, second.status_code) == (201, 201)
        return found

    found = asyncio.run(test())
    taken = found[: found.index("delays/hold.py change") + 1]
    assert len(taken) <= MOST, taken
