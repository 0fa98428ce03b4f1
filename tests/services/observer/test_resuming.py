"""Which run an observer goes on with when it starts."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import playback
import pytest
from playback import DEADLINE

from edgefw.records import RunDatabase, RunFolder
from edgefw.records.database import COMPLETE, ENDED, GIVEN_UP, NOT, STOPPED
from edgefw.scenario.load import dump
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.observer.resuming import folder_of

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.scenario.model import Scenario

CHOSEN = playback.scenario()
NOW = 1_000_000_000.0


def _run(runs: Path, name: str, scenario: Scenario, ended: str | None, begun: int = 1) -> RunFolder:
    """Leave a run whose observer ended so; None: killed before it had a record."""
    folder = RunFolder.create(runs / name, dump(scenario))
    os.utime(folder.scenario_path, (begun, begun))
    if ended is not None:
        database = RunDatabase(folder, {"digest": scenario.digest})
        database.add((), {ENDED: ended})
        database.close()
    return folder


@pytest.mark.parametrize(
    ("ended", "resume", "goes_on"),
    [
        (NOT, "anew", True),
        (None, "anew", True),
        (COMPLETE, "anew", False),
        (STOPPED, "anew", False),
        (GIVEN_UP, "anew", False),
        (NOT, "continue", True),
        (STOPPED, "continue", True),
        (COMPLETE, "continue", False),
        (GIVEN_UP, "continue", False),
    ],
)
def test_a_run_is_gone_on_with_where_it_did_not_end_or_is_to_continue(
    tmp_path: Path, ended: str | None, resume: str, *, goes_on: bool
) -> None:
    before = _run(tmp_path, "before", CHOSEN, ended)
    found = folder_of(tmp_path, CHOSEN.model_copy(update={"resume": resume}), NOW)
    assert (found.path == before.path) is goes_on
    assert found.is_begun()


def test_only_the_last_run_counts(tmp_path: Path) -> None:
    _run(tmp_path, "first", CHOSEN, NOT, begun=1)
    _run(tmp_path, "last", CHOSEN, COMPLETE, begun=2)
    assert folder_of(tmp_path, CHOSEN, NOW).path.name.startswith("playback-")


def test_the_run_of_another_scenario_is_left_alone(tmp_path: Path) -> None:
    _run(tmp_path, "other", playback.scenario(seed=4), NOT)
    assert folder_of(tmp_path, CHOSEN, NOW).path.name.startswith("playback-")


def test_a_run_whose_record_was_set_aside_is_not_gone_on_with(tmp_path: Path) -> None:
    folder = _run(tmp_path, "damaged", CHOSEN, NOT)
    (folder.path / "run.sqlite").write_bytes(b"no database" * 1000)
    assert folder_of(tmp_path, CHOSEN, NOW).path == folder.path
    (folder.path / "run.sqlite").rename(folder.path / "run.sqlite.corrupt-1")
    assert folder_of(tmp_path, CHOSEN, NOW).path.name.startswith("playback-")


def test_without_any_run_there_is_a_new_one(tmp_path: Path) -> None:
    found = folder_of(tmp_path / "runs", CHOSEN, NOW)
    assert found.path.parent == tmp_path / "runs"
    assert found.is_begun()


async def _report(folder: RunFolder, setup: Setup, first: int, last: int) -> None:
    rounds = playback.play_all(setup)[first - 1 : last]
    async with playback.observing(folder, stay=True) as observer:
        async with asyncio.timeout(DEADLINE):
            await playback.report_network(observer.place.address, setup, rounds)
            while last == setup.rounds and folder.summary() is None:  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.02)


def test_how_an_observer_ended_is_on_record_and_one_that_goes_on_takes_back_its_summary(
    tmp_path: Path,
) -> None:
    setup = resolve(CHOSEN)
    folder = playback.new_folder(tmp_path / "run", CHOSEN)
    asyncio.run(_report(folder, setup, 1, 5))
    assert folder.meta()[ENDED] == STOPPED
    stopped = folder.summary()
    assert stopped is not None
    assert stopped.rounds == 5
    asyncio.run(_report(folder, setup, 6, 12))
    assert folder.meta()[ENDED] == COMPLETE
    whole = folder.summary()
    assert whole is not None
    assert whole.rounds == 12


def test_an_observer_that_comes_back_after_the_end_concludes_no_second_time(tmp_path: Path) -> None:
    setup = resolve(CHOSEN)
    folder = playback.new_folder(tmp_path / "run", CHOSEN)
    asyncio.run(_report(folder, setup, 1, 12))
    written = folder.summary_text()
    assert written is not None

    async def look() -> dict[str, float]:
        async with playback.observing(folder, stay=True) as observer:
            return await playback.metrics_of(observer.place)

    summary, metrics = folder.summary(), asyncio.run(look())
    assert summary is not None
    assert metrics["edgefw_network_round"] == 12
    assert metrics["edgefw_network_regret"] == pytest.approx(summary.network_regret)
    assert folder.summary_text() == written
