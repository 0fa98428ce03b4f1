"""A disk that does not take the record: the run goes on when it does, and nothing is lost."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import playback
import pytest
from prometheus_client import CollectorRegistry
from small_disk import clear, fill, mounted, remount
from waiting import eventually

from edgefw.errors import DiskError
from edgefw.scenario.setup import resolve
from edgefw.services.machine import InlineMachine
from edgefw.services.observer import writing
from edgefw.services.observer.writing import Writing
from edgefw.telemetry.metrics import ObserverMetrics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from edgefw.services.config import Place


FULL = "cannot write run.sqlite: it is full; see to its disk"


class Disk:
    """Takes what it is given, after some refusals."""

    def __init__(self, refusals: int) -> None:
        self.refusals, self.tries = refusals, 0

    def write(self, what: str) -> str:
        self.tries += 1
        if self.tries <= self.refusals:
            raise DiskError(FULL)
        return what


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "RETRY", 0.01)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk") as found:
        yield found


def _writing(over: asyncio.Event) -> tuple[Writing, CollectorRegistry]:
    registry = CollectorRegistry()
    return Writing(InlineMachine().worker("recorder"), over, ObserverMetrics(registry).degraded), registry


def _degraded(registry: CollectorRegistry) -> float | None:
    return registry.get_sample_value("edgefw_network_record_degraded")


def test_what_is_refused_is_tried_until_it_is_written_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        one, registry = _writing(asyncio.Event())
        patient = asyncio.create_task(one.do(Disk(3).write, "a row"))
        await eventually(lambda: _degraded(registry) == 1)
        assert await patient == "a row"
        assert _degraded(registry) == 0

    with caplog.at_level(logging.INFO):
        asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == [
        f"{FULL}: agents keep what they report until it can be written",
        "the disk takes the record of the run again",
    ]


def test_who_is_to_stop_does_not_wait_for_a_disk() -> None:
    async def run() -> None:
        over, forever = asyncio.Event(), Disk(10**9)
        patient = asyncio.create_task(_writing(over)[0].do(forever.write, "a row"))
        await eventually(lambda: forever.tries > 2)
        over.set()
        with pytest.raises(DiskError, match="it is full; see to its disk"):
            await patient

    asyncio.run(run())


def test_on_a_full_disk_agents_are_not_answered_and_all_is_on_record_when_there_is_room(disk: Path) -> None:
    setup = resolve(playback.scenario(algorithm={"horizon": 60}))
    folder, rounds = playback.new_folder(disk / "run", setup.scenario), playback.play_all(setup)

    async def run() -> None:
        async with playback.observing(folder, stay=True) as observer:
            await playback.report_network(observer.place.address, setup, rounds[:20])
            fill(disk)
            rest = asyncio.create_task(playback.report_network(observer.place.address, setup, rounds[20:]))
            await _until_degraded(observer.place, 1)
            assert not rest.done()
            clear(disk)
            await rest
            await _until_degraded(observer.place, 0)

    asyncio.run(run())
    assert [(row.round, row.agent) for row in folder.rows()] == [
        (t, i) for t in range(1, 61) for i in range(setup.n)
    ]


def test_an_observer_that_is_started_again_on_a_read_only_disk_waits_until_it_is_mended(
    disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    setup = resolve(playback.scenario())
    folder, rounds = playback.new_folder(disk / "run", setup.scenario), playback.play_all(setup)

    async def begin() -> None:
        async with playback.observing(folder) as observer:
            await playback.report_network(observer.place.address, setup, rounds[:5])

    async def mend() -> None:
        await eventually(lambda: "see to its disk: agents keep" in caplog.text)
        remount(disk, "rw")

    async def run() -> None:
        mending = asyncio.create_task(mend())
        async with playback.observing(folder) as observer:
            await mending
            await playback.report_network(observer.place.address, setup, rounds[5:])
            await observer.ended()

    asyncio.run(begin())
    remount(disk, "ro")
    asyncio.run(run())
    assert len(folder.rows()) == 12 * setup.n


async def _until_degraded(place: Place, value: float) -> None:
    async with asyncio.timeout(playback.DEADLINE):
        while (await playback.metrics_of(place))["edgefw_network_record_degraded"] != value:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.02)
