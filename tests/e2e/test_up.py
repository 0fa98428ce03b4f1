"""The emulator as its users run it: `edgefw up` with the real services, and what it leaves behind."""

from __future__ import annotations

import re
import signal
import time
import urllib.request
from typing import TYPE_CHECKING

import pytest
from living import alive
from waiting import PATIENCE, until

from edgefw.services.network.scrape import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    import psutil
    from emulated import Emulated

    Start = Callable[..., Emulated]

pytestmark = pytest.mark.timeout(300)  # a network of processes takes its time, on a busy machine
TOLERANCE = 1e-3
AGENT_MEGABYTES = 95
LONG = {"clock": "wall", "pace": "100ms", "algorithm.horizon": 2000, "algorithm.stop_after": 2000}


def _agrees(run: Emulated) -> None:
    """Hold a run that is over against the simulator and the replay."""
    ours, simulated = run.summary(), run.simulated()
    assert ours["rounds"] == simulated["rounds"]
    assert ours["total_loss"] == pytest.approx(simulated["total_loss"], rel=TOLERANCE)
    assert ours["total_delay"] == simulated["total_delay"]
    plays = ours["agents"] * ours["rounds"]
    assert f"{plays} of {plays} plays are identical" in run.edgefw("verify", str(run.path))


def _metrics(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - of our own making
        text: str = answer.read().decode()
    return text


def _metric(text: str, name: str) -> float:
    (sample,) = parse(text, {name})
    return sample.value


def _addresses(run: Emulated) -> dict[str, str]:
    """Return where each service of a run that stays up has its metrics."""
    return dict(re.findall(r"^(\S+): (http://127\.0\.0\.1:\d+/metrics)$", run.err(), re.MULTILINE))


def test_a_run_by_rounds_agrees_with_simulator_and_replay(start: Start) -> None:
    run = start(fields={"delays": "[{agents: [1], type: rounds, rounds: 3}]"})
    run.run()
    _agrees(run)
    assert f"{run.summary()['total_loss']:.2f}" in run.out()
    assert {path.name for path in run.path.iterdir()} == {
        "logs",
        "run.sqlite",
        "scenario.yaml",
        "summary.json",
    }


@pytest.mark.parametrize("topology", ["line", "star", "grid", "complete", "erdos_renyi"])
def test_every_topology_runs_to_the_end(start: Start, topology: str) -> None:
    fields: dict[str, object] = {"network.topology": topology, "network.agents": 6}
    if topology == "erdos_renyi":
        fields["network.p"] = 0.6
    run = start(fields=fields)
    run.run()
    _agrees(run)


@pytest.mark.parametrize("algorithm", ["delmfw", "mfw", "bold-mfw", "dofw", "dgd"])
def test_a_lone_learner_runs_too(start: Start, algorithm: str) -> None:
    run = start(fields={"network.agents": 1, "algorithm.name": algorithm, "problem.batch": 5})
    run.run()
    _agrees(run)


def test_the_other_distributed_algorithm_runs_too(start: Start) -> None:
    run = start(fields={"algorithm.name": "distributed-dgd"})
    run.run()
    _agrees(run)


def test_drifting_data_are_read_in_order_by_everyone(start: Start) -> None:
    several_epochs = {"data.samples": 44, "problem.batch": 3, "problem.radius": 2}
    run = start(fields={"data.drift": 0.5, **several_epochs})
    run.run()
    _agrees(run)


def test_dropped_feedback_never_arrives(start: Start) -> None:
    run = start(fields={"delays": "[{agents: [2], type: drop}]"})
    run.run()
    _agrees(run)
    arrived = {row.agent: 0 for row in run.rows()}
    for row in run.rows():
        arrived[row.agent] += len(row.arrivals)
    assert arrived == {0: 9, 1: 9, 2: 0, 3: 9}


@pytest.mark.alone  # it measures how late feedback is
@pytest.mark.slow
def test_delays_by_the_wall_clock_are_what_was_asked_for(start: Start) -> None:
    late = "[{agents: [2], type: latency, latency: 500ms}]"
    fields = {"clock": "wall", "pace": "250ms", "delays": late, "algorithm.stop_after": 24}
    run = start("--stay", fields=fields)
    until(lambda: "services stay up" in run.err() or run.process.poll() is not None)
    numbers = {name: _metrics(address) for name, address in _addresses(run).items()}
    assert set(numbers) == {"broker", "observer", *(f"agent-{i}" for i in range(4))}
    duration = {i: _metric(numbers[f"agent-{i}"], "edgefw_agent_feedback_delay_rounds") for i in range(4)}
    assert duration[2] == pytest.approx(3, abs=1)
    assert [duration[i] for i in (0, 1, 3)] == [1, 1, 1]
    requested = _metric(numbers["agent-2"], "edgefw_agent_feedback_requested_delay")
    observed = _metric(numbers["agent-2"], "edgefw_agent_feedback_observed_delay_seconds")
    assert requested == pytest.approx(0.5)
    assert requested <= observed < requested + 0.25
    run.interrupt()
    assert run.end() == 0
    assert "96 of 96 plays are identical" in run.edgefw("verify", str(run.path))


@pytest.mark.alone  # it measures what processes use
@pytest.mark.slow
def test_agents_of_the_default_scenario_are_small_and_idle_ones_do_nothing(start: Start) -> None:
    fields = {"network.agents": 8, "data.samples": 60_000, "clock": "wall", "algorithm.horizon": 200}
    run = start("--stay", fields=fields)
    until(lambda: "services stay up" in run.err() or run.process.poll() is not None)
    agents = [run.service(f"agent-{i}") for i in range(8)]
    for agent in agents:
        assert _peak_megabytes(agent) < AGENT_MEGABYTES
    assert _busy_share(agents, 4.0) < 0.01
    run.interrupt()
    assert run.end() == 0


def _peak_megabytes(process: psutil.Process) -> float:
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:  # noqa: PTH123
        (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status.read())
    return int(peak) / 1024


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
    until(lambda: run.round() > 3 or run.process.poll() is not None)
    processes = run.children()
    run.interrupt()
    assert run.end() == 130
    assert not alive(processes)
    summary = run.summary()
    assert 3 < summary["rounds"] < 2000
    assert "edgefw: interrupted" in run.err()
    assert "plays are identical" in run.edgefw("verify", str(run.path))


@pytest.mark.parametrize("name", ["agent-2", "broker", "observer"])
def test_a_killed_service_is_named(start: Start, name: str) -> None:
    run = start(fields=LONG)
    run.started()
    processes = run.children()
    run.service(name).send_signal(signal.SIGKILL)
    assert run.end() == 1
    assert f"edgefw: {name} was killed by SIGKILL; its last lines" in run.err()
    assert not alive(processes)


def test_nothing_outlives_a_killed_parent(start: Start) -> None:
    run = start(fields=LONG)
    run.started()
    processes = run.children()
    assert len(processes) >= 6
    run.process.kill()
    run.process.wait(PATIENCE)
    until(lambda: not alive(processes))


def test_a_second_run_does_not_go_into_the_same_folder(start: Start) -> None:
    run = start(fields={"algorithm.stop_after": 2})
    run.run()
    again = start(fields={"algorithm.stop_after": 2})
    assert again.end() == 2
    assert "holds a run already" in again.err()


@pytest.mark.slow
def test_thirty_agents_with_the_published_settings_agree_with_the_simulator(start: Start) -> None:
    published = {
        "network.agents": 30,
        "data.samples": 60_000,
        "delays": "[{agents: {draw: 20, replacement: true}, type: rounds, rounds: 501}]",
        "algorithm.horizon": 1000,
        "algorithm.stop_after": 40,
    }
    run = start(scenario="paper-distributed", fields=published)
    run.run(600)
    _agrees(run)
