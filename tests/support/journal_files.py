"""Journals for tests: short-lived ones, and copies of their files as a crash would leave them."""

from __future__ import annotations

import asyncio
import functools
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ParamSpec

from prometheus_client import CollectorRegistry

from edgefw.services.broker.journal import Accepted, SqliteJournal, Tuning
from edgefw.services.machine import Clocks, Machine
from edgefw.telemetry.metrics import BrokerMetrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

RUN_ID = "1234/run"
P = ParamSpec("P")


def looped(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test in an event loop of its own."""

    @functools.wraps(test)
    def run(*values: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*values, **named))

    return run


def metrics() -> BrokerMetrics:
    return BrokerMetrics(CollectorRegistry())


def commits(of: BrokerMetrics) -> float:
    """Return how many commits were observed."""
    (family,) = of.fsync.collect()
    return next(sample.value for sample in family.samples if sample.name.endswith("_count"))


def record(agent: int, s: int, payload: bytes = b"feedback", **other: Any) -> Accepted:
    plain = Accepted(agent, s, payload, norm=s / 8, rank=0.25, accepted=10**18 + s, version=1, dropped=False)
    return plain._replace(**other)


def journal_at(
    path: Path,
    tuning: Tuning | None = None,
    observed: BrokerMetrics | None = None,
    *,
    run_id: str = RUN_ID,
    clocks: Clocks | None = None,
) -> SqliteJournal:
    machine = Machine(clocks or Clocks())
    return SqliteJournal(path, run_id, observed or metrics(), tuning or Tuning(), machine)


@asynccontextmanager
async def opened(
    path: Path, tuning: Tuning | None = None, observed: BrokerMetrics | None = None
) -> AsyncIterator[SqliteJournal]:
    journal = journal_at(path, tuning, observed)
    try:
        yield journal
    finally:
        await journal.close()


async def flush(journal: SqliteJournal, version: int = 1) -> None:
    """Wait until every note so far is on disk."""
    await journal.keep_plan(version, f"plan {version}")


def crash(path: Path, copy: Path) -> Path:
    """Copy an open journal's files as they are: what a machine would find after its broker was killed."""
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    return copy
