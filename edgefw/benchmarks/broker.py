"""What the broker costs and how exact it is: lateness at the receiver, durable intake, admin calls."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import uvloop

from edgefw.benchmarks.broker_load import BrokerProcess, LoadLink, broker_process, load_links
from edgefw.scenario.load import validate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edgefw.scenario.model import Scenario

AGENTS, PAYLOAD = 30, b"\x5a" * 9000
RATE, PENDING = 1000, 10_000  # feedback a second, and how much is pending meanwhile
ADMIN_RATE, CLIENTS = 200, 5  # admin calls a second, and who makes them
CHANGES = 100  # of the plan, whose effect is timed
IN_FLIGHT = 96


@dataclass(frozen=True)
class Lateness:
    """Seconds at the receiver, over one run."""

    p50: float
    p99: float
    worst: float
    early: int
    count: int
    pending: int
    admin_calls: int
    cpu: float  # processor seconds of the broker a second


@dataclass(frozen=True)
class IntakeRate:
    """Feedback acknowledged, so on disk, a second."""

    per_second: float
    cpu: float  # processor seconds of the broker per feedback


def median(runs: list[Lateness]) -> Lateness:
    """Return the run whose 99th percentile is the median."""
    return sorted(runs, key=lambda each: each.p99)[len(runs) // 2]


def lateness(folder: Path, *, seconds: float, admin_calls: bool) -> Lateness:
    """Measure one run: RATE feedbacks a second over AGENTS links, PENDING of them pending."""
    return uvloop.run(_lateness(folder, seconds, admin_calls=admin_calls))


def intake(folder: Path, *, seconds: float) -> IntakeRate:
    """Measure how much feedback is acknowledged with IN_FLIGHT submissions under way at any time."""
    return uvloop.run(_intake(folder, seconds))


def effect(folder: Path) -> list[float]:
    """Measure how long after the answer a change acts: a link is opened, and what it held is received."""
    return uvloop.run(_effect(folder))


def _scenario(latency: str, jitter: str) -> Scenario:
    fault = {"type": "latency", "latency": latency, "jitter": jitter, "distribution": "uniform"}
    return validate(
        {
            "name": "load",
            "network": {"agents": AGENTS},
            "algorithm": {"horizon": 10**6},
            "data": {"source": "synthetic"},
            "clock": "wall",
            "delays": [fault],
            "limits": {"link": 10**6, "all": 10**6, "megabytes": 20_000},
        },
        source="bench",
    )


@asynccontextmanager
async def _loaded(
    folder: Path, scenario: Scenario, agents: int = AGENTS
) -> AsyncIterator[tuple[BrokerProcess, list[LoadLink]]]:
    """Run a broker with a folder of its own while the block runs, and agents that are connected to it."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        async with (
            broker_process(scenario, Path(own)) as broker,
            load_links(broker.address, scenario.digest, agents) as links,
        ):
            yield broker, links


async def _lateness(folder: Path, seconds: float, *, admin_calls: bool) -> Lateness:
    held = PENDING / RATE  # seconds that a feedback is held on average
    async with _loaded(folder, _scenario(f"{held}s", f"{held / 5}s")) as (broker, links):
        submitting = asyncio.create_task(_at_a_rate(links, 1.2 * held + seconds))
        await asyncio.sleep(1.2 * held)  # until as much comes out as goes in
        for link in links:
            link.received.clear()
        cpu = broker.cpu_seconds()
        async with _admin_load(broker, on=admin_calls) as calls:
            await asyncio.sleep(seconds)
            done = len(calls)
        cpu = broker.cpu_seconds() - cpu
        late = sorted(value for link in links for value in link.lateness())
        pending = sum(len(link.answered) for link in links) - sum(len(link.requested) for link in links)
        await submitting
    return Lateness(
        p50=late[len(late) // 2],
        p99=late[int(0.99 * len(late))],
        worst=late[-1],
        early=sum(value < 0 for value in late),
        count=len(late),
        pending=pending,
        admin_calls=done,
        cpu=cpu / seconds,
    )


async def _at_a_rate(links: list[LoadLink], seconds: float) -> None:
    """Submit RATE feedbacks a second, evenly, whether or not answers are quick."""
    begin, sent = monotonic(), 0
    async with asyncio.TaskGroup() as tasks:
        while (elapsed := monotonic() - begin) < seconds:
            while sent < elapsed * RATE:
                link, s = links[sent % len(links)], sent // len(links) + 1
                tasks.create_task(link.submit(s, PAYLOAD))
                sent += 1
            await asyncio.sleep(0.001)


async def _intake(folder: Path, seconds: float) -> IntakeRate:
    async with _loaded(folder, _scenario("3600s", "1s")) as (broker, links):
        await asyncio.gather(*(link.submit(1, PAYLOAD) for link in links))  # connections stand
        following = iter((s, link) for s in range(2, 10**6) for link in links)
        cpu, begin = broker.cpu_seconds(), monotonic()

        async def keep_submitting() -> None:
            while monotonic() - begin < seconds:
                s, link = next(following)
                await link.submit(s, PAYLOAD)

        await asyncio.gather(*(keep_submitting() for _ in range(IN_FLIGHT)))
        elapsed, cpu = monotonic() - begin, broker.cpu_seconds() - cpu
        count = sum(len(link.answered) for link in links) - len(links)
    return IntakeRate(count / elapsed, cpu / count)


async def _effect(folder: Path) -> list[float]:
    times = []
    async with _loaded(folder, _scenario("0s", "0s"), agents=1) as (broker, (link,)):
        reader, writer = await asyncio.open_connection(*broker.admin)
        for s in range(1, CHANGES + 1):
            writer.write(_switch(broker.admin[1], enabled="false"))
            await _read_answer(reader)
            await link.submit(s, PAYLOAD)
            writer.write(_switch(broker.admin[1], enabled="true"))
            await _read_answer(reader)
            answered = monotonic()
            while s not in link.received:  # noqa: ASYNC110 - its own time of receipt is what counts
                await asyncio.sleep(0.001)
            times.append(link.received[s] - answered)
        writer.close()
    return sorted(times)


def _switch(port: int, enabled: str) -> bytes:
    return _call("PATCH", "/links/0", f'{{"enabled": {enabled}}}', port)


@asynccontextmanager
async def _admin_load(broker: BrokerProcess, *, on: bool) -> AsyncIterator[list[float]]:
    """Change and ask, ADMIN_RATE times a second, while the block runs; the list grows with every answer."""
    calls: list[float] = []
    clients = range(CLIENTS if on else 0)
    tasks = [asyncio.create_task(_call_admin(broker, client, calls)) for client in clients]
    try:
        yield calls
    finally:
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
    for error in done:
        if isinstance(error, Exception):
            raise error


async def _call_admin(broker: BrokerProcess, client: int, calls: list[float]) -> None:
    reader, writer = await asyncio.open_connection(*broker.admin)
    begin, sent = monotonic(), 0
    try:
        while True:
            await asyncio.sleep(max(0.0, begin + sent * CLIENTS / ADMIN_RATE - monotonic()))
            asked = monotonic()
            writer.write(_request(client, sent, broker.admin[1]))
            await _read_answer(reader)
            calls.append(monotonic() - asked)
            sent += 1
    finally:
        writer.close()


def _request(client: int, number: int, port: int) -> bytes:
    """Return a client's next call: a fault comes, changes, is looked at, goes; link by link of its own."""
    agent = (number // 4 * CLIENTS + client) % (AGENTS // CLIENTS * CLIENTS)
    verb, path, body = (
        ("POST", f"/links/{agent}/faults", '{"name":"b","type":"latency","attributes":{"latency":"1ms"}}'),
        ("PATCH", f"/links/{agent}/faults/b", '{"attributes":{"latency":"2ms"},"apply_to":"pending"}'),
        ("GET", f"/links/{agent}", ""),
        ("DELETE", f"/links/{agent}/faults/b", ""),
    )[number % 4]
    return _call(verb, path, body, port)


def _call(verb: str, path: str, body: str, port: int) -> bytes:
    head = f"{verb} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Content-Type: application/json\r\n\r\n{body}".encode()


async def _read_answer(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    status = int(head.split(" ", 2)[1])
    if status >= 400:
        raise RuntimeError(f"the admin endpoint answered {head.splitlines()[0]}")
    if "content-length:" in head:
        await reader.readexactly(int(head.split("content-length:", 1)[1].split("\r\n", 1)[0]))
