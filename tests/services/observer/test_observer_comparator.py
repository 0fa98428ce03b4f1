"""The comparator's process: certificates on the way, the last one, no time left, a process that dies."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import playback
import psutil
import pytest
from waiting import eventually

from edgefw import best
from edgefw.core.comparator import certify
from edgefw.experiments import runner
from edgefw.scenario.setup import first_rounds, resolve
from edgefw.services.machine import REAL
from edgefw.services.observer import comparator, comparing
from edgefw.services.observer.comparator import ComparatorSearch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from edgefw.core.regret import Comparator
    from edgefw.records import RunFolder
    from edgefw.scenario.setup import Setup
    from edgefw.services.observer.scoring import Certificate


def comparators() -> list[psutil.Process]:
    return [
        one for one in psutil.Process().children() if "edgefw.services.observer.comparing" in one.cmdline()
    ]


def unexpected() -> None:
    pytest.fail("the comparator has failed")


def searching(folder: RunFolder, setup: Setup) -> ComparatorSearch:
    """Return a process whose findings on the way are of no interest."""
    return ComparatorSearch(folder.scenario_path, setup.rounds, lambda _: None, unexpected, REAL)


def test_the_process_is_of_the_lowest_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(comparing.NICE)
    setup = resolve(playback.scenario())
    folder = playback.new_folder(tmp_path / "run", setup.scenario)

    async def run() -> None:
        process = searching(folder, setup)
        await process.start()
        await eventually(lambda: [one.nice() for one in comparators()] == [19])
        await process.close()

    asyncio.run(run())


@pytest.mark.parametrize("text", ["", "low", "-1", "20", "1.5"])
def test_a_priority_that_is_none_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(comparing.NICE, text)
    with pytest.raises(SystemExit) as ended:
        comparing._niceness()
    told = f"edgefw: {comparing.NICE} is {text!r}: it has to be a number from 0 to 19"
    assert ended.value.code == told  # which Python prints, and ends with exit code 1


def test_certificates_come_on_the_way_and_the_last_is_tight(tmp_path: Path) -> None:
    setup = resolve(playback.scenario())
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    worst = 5.0 + runner.best_point(setup, runner.run(setup)).comparator.value
    best._path(setup).unlink()

    async def run() -> tuple[list[Certificate], Certificate | None]:
        found: list[Certificate] = []
        on_the_way = asyncio.Event()

        def note(certificate: Certificate) -> None:
            found.append(certificate)
            if certificate.comparator.gap <= comparing.TARGETS[-1] * certificate.comparator.value:
                on_the_way.set()

        process = ComparatorSearch(folder.scenario_path, setup.rounds, note, unexpected, REAL)
        await process.start()
        async with asyncio.timeout(playback.DEADLINE):
            await on_the_way.wait()
            last = await process.last(7, worst, asyncio.Event())
        await process.close()
        return found, last

    found, last = asyncio.run(run())
    gaps = [certificate.comparator.gap for certificate in found]
    assert len(gaps) > 1
    assert gaps == sorted(set(gaps), reverse=True)  # each tighter than the one before
    for certificate in found:
        assert not certificate.final
        assert certificate.losses.shape == (setup.rounds,)
        assert certificate.losses.sum() == pytest.approx(certificate.comparator.value, rel=1e-4)
    assert last is not None
    assert last.final
    assert last.losses.shape == (7,)
    assert last.losses.sum() == pytest.approx(last.comparator.value, rel=1e-4)
    assert last.comparator.gap <= best.SHARE * (worst - last.comparator.value)
    assert not comparators()


def test_where_there_is_no_time_the_certificate_is_as_tight_as_it_got(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparator, "HURRY", 0.2)
    monkeypatch.setattr(comparator, "MARGIN", playback.DEADLINE)  # on however busy a machine
    setup = resolve(playback.scenario(algorithm={"horizon": 100}))
    folder = playback.new_folder(tmp_path / "run", setup.scenario)

    async def run() -> Certificate | None:
        process, stop = searching(folder, setup), asyncio.Event()
        await process.start()
        async with asyncio.timeout(playback.DEADLINE):
            asyncio.get_running_loop().call_later(0.5, stop.set)
            last = await process.last(100, 0.0, stop)  # no gap is small enough for no regret
        await process.close()
        return last

    last = asyncio.run(run())
    assert last is not None
    optimum = best.find(setup, lambda c: c.gap <= 0.1 * c.value).comparator
    assert last.comparator.value - last.comparator.gap <= optimum.value
    assert optimum.value - optimum.gap <= last.comparator.value


def test_a_run_whose_comparator_died_ends_without_regret(tmp_path: Path) -> None:
    async def kill() -> None:
        for process in comparators():
            process.kill()

    check_a_run_without_regret(tmp_path, kill)


GOOD = {"value": 4.0, "gap": 0.5, "losses": [1.0, 1.0, 1.0, 1.0], "final": False}
BAD_LINES = {
    "cut off": json.dumps(GOOD)[:30],
    "no object": "3",
    "a field missing": json.dumps({"value": 4.0, "gap": 0.5, "final": False}),
    "not finite": json.dumps(GOOD | {"gap": float("nan")}),
    "too many rounds": json.dumps(GOOD | {"losses": [1.0] * 5}),
    "no numbers": json.dumps(GOOD | {"losses": "many"}),
    "not bytes of a text": "\\xff\\xfe",
    "endless": "x" * 5000,
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_a_run_whose_comparator_talks_nonsense_ends_without_regret(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"import sys, time; sys.stdout.buffer.write(b'{line}\\n'); sys.stdout.flush(); time.sleep(600)"
    monkeypatch.setattr(comparator, "COMMAND", (sys.executable, "-c", script))
    monkeypatch.setattr(comparator, "_LONGEST_LINE", 4000)

    async def nothing() -> None:
        pass

    check_a_run_without_regret(tmp_path, nothing)


def test_a_run_whose_comparator_cannot_be_started_ends_without_regret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparator, "COMMAND", (str(tmp_path / "not there"),))

    async def nothing() -> None:
        pass

    check_a_run_without_regret(tmp_path, nothing)


def check_a_run_without_regret(tmp_path: Path, harm: Callable[[], Awaitable[None]]) -> None:
    """Let a run be observed, its comparator harmed, and see that all the rest is as ever."""
    setup = resolve(playback.scenario(algorithm={"horizon": 4}))
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    rounds = playback.play_all(setup)

    async def run() -> float:
        async with playback.observing(folder, stay=True) as observer:
            await harm()
            await playback.report_network(observer.place.address, setup, rounds)
            await eventually((folder.path / "summary.json").exists)
            metrics = await playback.metrics_of(observer.place)
            return metrics["edgefw_network_comparator_failures_total"]

    assert asyncio.run(run()) == 1
    summary = json.loads((folder.path / "summary.json").read_text())
    assert summary["rounds"] == 4
    assert summary["total_loss"] > 0
    assert summary["network_regret"] is None
    assert not (folder.path / "run.sqlite-wal").exists()  # the database has been closed
    assert not comparators()


def test_the_process_ends_with_its_observer_whatever_was_said_last(tmp_path: Path) -> None:
    setup = resolve(playback.scenario(algorithm={"horizon": 4}))
    folder = playback.new_folder(tmp_path / "run", setup.scenario)
    process = subprocess.Popen(
        [*comparator.COMMAND, str(folder.scenario_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.communicate(b'{"rounds": 4, "wor', timeout=playback.DEADLINE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0


def test_a_search_never_ends_with_a_lower_bound_below_the_known_one() -> None:
    setup = resolve(playback.scenario())
    tight = best.find(setup, lambda c: c.gap <= 0.05 * c.value)
    lower = tight.comparator.value - tight.comparator.gap
    tight.point = setup.feasible.start()  # the cache has a bad point now, and a good bound
    tight.comparator = certify(best.objective(setup), setup.feasible, tight)
    best._write(best._path(setup), tight)
    seen: list[Comparator] = []

    def at_the_first_step(found: Comparator) -> bool:
        seen.append(found)
        return len(seen) > 1

    again = best.find(setup, at_the_first_step).comparator
    assert seen[0] == tight.comparator
    assert seen[1].value - seen[1].gap < lower
    assert again.value - again.gap == pytest.approx(lower, abs=1e-6)
    assert best.find(setup, lambda _: True).comparator == again


def test_a_search_goes_on_from_a_point_of_another_length() -> None:
    setup = resolve(playback.scenario())
    whole = best.find(setup, lambda c: c.gap <= 0.05 * c.value)
    short = first_rounds(setup, 6)
    steps: list[Comparator] = []

    def once(found: Comparator) -> bool:
        steps.append(found)
        return True

    warm = best.find(short, once, whole.point)
    best._path(short).unlink()
    cold = best.find(short, lambda _: True)
    assert warm.comparator.value < cold.comparator.value
    assert np.isfinite(warm.comparator.gap)
