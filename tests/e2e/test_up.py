"""The emulator as its users run it: `edgefw up` with the real services, and what it leaves behind.

Each run is a handful of processes; what is not about processes is in `test_over_memory`.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from emulated import Emulated
from living import alive
from together import run_together
from waiting import PATIENCE, until

from edgefw.local.scrape import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psutil

    from edgefw.records import PlayRow

    Start = Callable[..., Emulated]

pytestmark = pytest.mark.timeout(300)  # a network of processes takes its time, on a busy machine
TOLERANCE = 1e-3
SAMPLES = 60_000  # of the default scenario, of 784 bytes each
one_run = pytest.mark.xdist_group("finished run")
LONG = {
    "network.agents": 2,
    "clock": "wall",
    "pace": "100ms",
    "algorithm.horizon": 2000,
    "algorithm.stop_after": 2000,
    "algorithm.sub_iterations": 3,
}


def _get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - of our own making
        text: str = answer.read().decode()
    return text


def _metric(text: str, name: str) -> float:
    (sample,) = parse(text, {name})
    return sample.value


def _addresses(run: Emulated) -> dict[str, str]:
    """Return where each service of a run that stays up has its metrics."""
    return dict(re.findall(r"^(\S+): (http://127\.0\.0\.1:\d+/metrics)$", run.err(), re.MULTILINE))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulated]:
    """Return a run that is over; tests only look at it."""
    fields = {
        "delays": "[{agents: [1, 2], type: rounds, rounds: 4, jitter: 3}, {type: drop, probability: 0.2}]",
        "algorithm.stop_after": 12,
    }
    run = Emulated(tmp_path_factory.mktemp("finished"), fields=fields)
    try:
        run.run()
        yield run
    finally:
        run.close()


@one_run
def test_a_run_by_rounds_agrees_with_simulator_and_replay(finished: Emulated) -> None:
    ours, simulated = finished.summary(), finished.simulated()
    assert ours["rounds"] == simulated["rounds"] == 12
    assert ours["total_loss"] == pytest.approx(simulated["total_loss"], rel=TOLERANCE)
    assert ours["total_delay"] == simulated["total_delay"]
    assert "48 of 48 plays are identical" in finished.edgefw("verify", str(finished.path))
    assert f"{ours['total_loss']:.2f}" in finished.out()
    assert {path.name for path in finished.path.iterdir()} == {
        "logs",
        "run.sqlite",
        "scenario.yaml",
        "summary.json",
    }


@one_run
def test_services_in_one_process_play_what_they_play_in_many(finished: Emulated, tmp_path: Path) -> None:
    """So what the other tests show over memory holds over gRPC."""
    together = run_together(tmp_path / "run", str(finished.path / "scenario.yaml"), finished.fields)
    assert _plays(together.rows()) == _plays(finished.rows())
    assert len(finished.rows()) == 4 * 12


def _plays(rows: list[PlayRow]) -> list[tuple[object, ...]]:
    return [(row.round, row.agent, row.hash, row.arrivals, row.local_loss, row.global_loss) for row in rows]


@one_run
def test_a_second_run_does_not_go_into_the_same_folder(finished: Emulated) -> None:
    before = finished.rows()
    command = [sys.executable, "-m", "edgefw", "up", "default", "--out", str(finished.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert "holds a run already" in done.stderr
    assert finished.rows() == before


@pytest.fixture(scope="module")
def stayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulated]:
    """Return a run that is over while its services stay up; one agent was late, by the wall clock."""
    fields = {
        "network.agents": 8,
        "data.samples": SAMPLES,
        "data.features": 784,
        "data.classes": 10,
        "clock": "wall",
        "pace": "250ms",
        "delays": "[{agents: [2], type: latency, latency: 500ms}]",
        "algorithm.horizon": 200,
        "algorithm.stop_after": 24,
    }
    run = Emulated(tmp_path_factory.mktemp("stayed"), "--stay", fields=fields)
    try:
        until(lambda: "services stay up" in run.err() or run.process.poll() is not None)
        yield run
        run.interrupt()
        assert run.end() == 0, run.err()
    finally:
        run.close()


@pytest.mark.alone  # as what measures with the same run
def test_the_page_is_where_it_is_said_to_be_and_reaches_the_broker(stayed: Emulated) -> None:
    url = stayed.err().partition("live page: ")[2].split()[0]
    assert "<title>edgefw</title>" in _get(url)
    link = json.loads(_get(f"{url}admin/links/2"))
    assert [fault["attributes"] for fault in link["faults"]] == [{"latency": "500ms"}]


@pytest.mark.alone  # likewise
@pytest.mark.slow
def test_the_status_of_a_run_of_processes_is_that_of_each(stayed: Emulated) -> None:
    found = [
        each for each in json.loads(stayed.edgefw("status", "--json")) if each["run"] == str(stayed.path)
    ]
    assert [each["name"] for each in found] == ["observer", "broker", *(f"agent-{i}" for i in range(8))]
    assert {(each["state"], each["health"]) for each in found} == {("running", "healthy")}
    assert all(each["memory"] > 10e6 and 0 <= each["cpu"] < 4 for each in found)
    assert all(each["learning"]["round"] == 24 for each in found if each["name"] != "broker")


@pytest.mark.alone  # it measures how late feedback is
@pytest.mark.slow
def test_delays_by_the_wall_clock_are_what_was_asked_for(stayed: Emulated) -> None:
    numbers = {name: _get(address) for name, address in _addresses(stayed).items()}
    assert set(numbers) == {"broker", "observer", *(f"agent-{i}" for i in range(8))}
    duration = {i: _metric(numbers[f"agent-{i}"], "edgefw_agent_feedback_delay_rounds") for i in range(8)}
    assert duration.pop(2) == pytest.approx(3, abs=1)
    assert set(duration.values()) == {1}
    requested = _metric(numbers["agent-2"], "edgefw_agent_feedback_requested_delay")
    observed = _metric(numbers["agent-2"], "edgefw_agent_feedback_observed_delay_seconds")
    assert requested == pytest.approx(0.5)
    assert requested <= observed < requested + 0.25
    assert "192 of 192 plays are identical" in stayed.edgefw("verify", str(stayed.path))


@pytest.mark.alone  # it measures what processes use
@pytest.mark.slow
def test_agents_of_the_default_scenario_are_small_and_idle_ones_do_nothing(stayed: Emulated) -> None:
    agents = [stayed.service(f"agent-{i}") for i in range(8)]
    for agent in agents:  # less than if it had all samples for a moment, where it needs an eighth
        assert _peak_bytes(agent.pid) < _bare_bytes() + 784 * SAMPLES
    assert _busy_share(agents, 4.0) < 0.01


@cache
def _bare_bytes() -> int:
    """Return the peak memory of a process that imports what an agent does, and is none."""
    code = "import os, sys, edgefw.services.agent.service; print(os.getpid(), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as bare:
        assert bare.stdout is not None
        peak = _peak_bytes(int(bare.stdout.readline()))
        bare.communicate()
    return peak


def _peak_bytes(pid: int) -> int:
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    return int(peak) * 1024


def _busy_share(processes: list[psutil.Process], seconds: float) -> float:
    """Return which share of a core the busiest process uses."""

    def used() -> list[float]:
        return [times.user + times.system for times in (process.cpu_times() for process in processes)]

    before = used()
    time.sleep(seconds)
    return max(b - a for a, b in zip(before, used(), strict=True)) / seconds


@pytest.mark.alone  # it measures what processes use
@pytest.mark.slow
def test_a_silent_peer_is_named_and_waited_for_without_work(start: Start) -> None:
    fields = {"clock": "wall", "pace": "100ms", "algorithm.stop_after": 40}
    run = start(fields=fields)
    run.started()
    silent = run.service("agent-1")
    silent.suspend()
    try:
        until(
            lambda: re.search(
                r"agent 0 waits for agent 1 at \(t, k\) = \(\d+, \d+\) for 2", run.log("agent-0")
            )
        )
        others = [run.service(f"agent-{i}") for i in (0, 2, 3)]
        assert _busy_share(others, 4.0) < 0.01
    finally:
        silent.resume()
    run.run()
    assert "160 of 160 plays are identical" in run.edgefw("verify", str(run.path))


def test_an_interrupted_run_has_a_summary_of_the_rounds_played(start: Start) -> None:
    run = start(fields=LONG)
    run.started()
    until(lambda: run.rows()[-1:] and run.rows()[-1].round > 3)
    processes = run.children()
    run.interrupt()
    assert run.end() == 130
    assert not alive(processes)
    summary = run.summary()
    assert 3 < summary["rounds"] < 2000
    assert "edgefw: interrupted" in run.err()
    assert "plays are identical" in run.edgefw("verify", str(run.path))


def test_a_killed_agent_that_keeps_nothing_on_disk_is_named(start: Start) -> None:
    run = start("--memory", fields=LONG)
    run.started()
    processes = run.children()
    run.service("agent-1").send_signal(signal.SIGKILL)
    assert run.end() == 1
    assert "edgefw: agent-1 was killed by SIGKILL; its last lines" in run.err()
    assert not alive(processes)


def test_nothing_outlives_a_killed_parent(start: Start) -> None:
    run = start(fields=LONG)
    run.started()
    processes = run.children()
    assert len(processes) >= 4
    run.process.kill()
    run.process.wait(PATIENCE)
    until(lambda: not alive(processes))


@pytest.mark.parametrize("limits", ["{link: 4}", "{all: 19}"])
def test_by_rounds_less_room_than_delays_need_is_refused_at_the_start(start: Start, limits: str) -> None:
    run = start(fields={"delays": "[{type: rounds, rounds: 4}]", "limits": limits})
    assert run.end() != 0
    assert "delays reach 4 rounds: at least" in run.err()
    assert "Traceback" not in run.err()
