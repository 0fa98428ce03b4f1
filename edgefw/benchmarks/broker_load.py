"""A broker as a process of its own, and agents that only submit and receive: for benchmarks and crashes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from edgefw.benchmarks.processor import own_seconds
from edgefw.local.ports import Places, loopback_places
from edgefw.local.supervisor import ENVIRONMENT
from edgefw.scenario.load import dump
from edgefw.transport.broker_client import BrokerClient
from edgefw.transport.server import until_serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from edgefw.scenario.model import Scenario

START_SECONDS, END_SECONDS = 90.0, 30.0
_OWN = {key: value for key, value in ENVIRONMENT.items() if key != "EDGEFW_SUPERVISED"}


class BrokerProcess:
    """A broker that can be killed and started again at the same place, with the same journal.

    It serves the scenario, or the run of the observer at an address.
    """

    def __init__(self, scenario: Scenario, folder: Path, places: Places, observer: str | None = None) -> None:
        self._folder, self._places, self._observer = folder, places, observer
        self._process: asyncio.subprocess.Process | None = None
        (folder / "scenario.yaml").write_text(dump(scenario), encoding="utf-8")

    @property
    def address(self) -> str:
        """Where its gRPC server listens."""
        return self._places.broker.address

    @property
    def admin(self) -> tuple[str, int]:
        """Where its admin endpoint listens."""
        return self._places.broker.host, self._places.admin

    async def start(self) -> None:
        """Start it and wait until it serves."""
        place = self._places.broker
        keeps = ["--journal", str(self._folder / "journal.sqlite")]
        serves = ["--scenario", str(self._folder / "scenario.yaml")]
        if self._observer is not None:
            serves = ["--join", self._observer]
        with (self._folder / "broker.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "edgefw", "broker", *serves),
                *("--listen", place.address, "--metrics-port", str(place.metrics_port), *keeps),
                *("--admin", f"{place.host}:{self._places.admin}"),
                stdout=log,
                stderr=log,
                env={**os.environ, **_OWN},
            )
        async with asyncio.timeout(START_SECONDS):
            await until_serving(place.address)

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send it a signal and wait for its end; return its exit code."""
        assert self._process is not None  # noqa: S101 - it has been started
        self._process.send_signal(number)
        async with asyncio.timeout(END_SECONDS):
            return await self._process.wait()

    def cpu_seconds(self) -> float:
        """Return the processor time it has used."""
        assert self._process is not None  # noqa: S101 - it has been started
        return own_seconds(self._process.pid)


@asynccontextmanager
async def broker_process(scenario: Scenario, folder: Path) -> AsyncIterator[BrokerProcess]:
    """Run a broker of its own while the block runs."""
    with loopback_places(0) as places:
        broker = BrokerProcess(scenario, folder, places)
        await broker.start()
        try:
            yield broker
        finally:
            await broker.end()


@dataclass
class LoadLink:
    """One agent that submits and receives, and notes when."""

    client: BrokerClient
    submitted: dict[int, float] = field(default_factory=dict)  # round -> when it was handed over
    answered: set[int] = field(default_factory=set)
    received: dict[int, float] = field(default_factory=dict)  # round -> when it came first
    requested: dict[int, float] = field(default_factory=dict)
    copies: int = 0  # how often one came again

    async def submit(self, s: int, payload: bytes, norm: float = 1.0) -> None:
        """Submit a feedback; returns when the broker has it."""
        self.submitted.setdefault(s, monotonic())
        await self.client.submit(s, payload, norm)
        self.answered.add(s)

    async def receive(self) -> None:
        """Take in what comes, for ever."""
        async for delivery in self.client.deliveries():
            now = monotonic()
            if delivery.round in self.received:
                self.copies += 1
                continue
            self.received[delivery.round] = now
            self.requested[delivery.round] = delivery.requested

    def lateness(self) -> list[float]:
        """Return how late each feedback was at the receiver: from handing it over, the delay taken off."""
        return [now - self.submitted[s] - self.requested[s] for s, now in self.received.items()]


@asynccontextmanager
async def load_links(address: str, run_id: str, agents: int) -> AsyncIterator[list[LoadLink]]:
    """Connect `agents` agents to a broker while the block runs; each receives."""
    links = [LoadLink(BrokerClient(address, agent, run_id)) for agent in range(agents)]
    receivers = [asyncio.create_task(link.receive()) for link in links]
    try:
        yield links
    finally:
        for receiver in receivers:
            receiver.cancel()
        await asyncio.gather(*receivers, return_exceptions=True)
        for link in links:
            await link.client.close()
