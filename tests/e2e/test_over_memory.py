"""The real agents, broker and observer in one process, over the memory transport: what they play and record.

That they play the same over gRPC, each in a process of its own, is shown in `test_up`.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from together import run_together

from edgefw.core.account import Kind
from edgefw.experiments import runner
from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve
from edgefw.services.machine import REAL
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.records import RunFolder


def agrees(folder: RunFolder) -> None:
    """Hold a run that is over against the simulator and the replay."""
    setup = resolve(load(str(folder.scenario_path)))
    simulated, ours = runner.summarise(setup, runner.run(setup), None), folder.summary()
    assert ours is not None
    assert ours.rounds == simulated.rounds
    assert ours.total_loss == pytest.approx(simulated.total_loss, rel=1e-3)
    assert ours.total_delay == simulated.total_delay
    assert (ours.messages, ours.bytes) == (simulated.messages, simulated.bytes)
    assert ours.wire_bytes or setup.n == 1
    verdict = verify(read(folder))
    assert verdict.passed, verdict
    assert verdict.identical == verdict.plays == setup.n * setup.rounds


@pytest.mark.parametrize("topology", ["line", "star", "grid", "complete", "erdos_renyi"])
def test_every_topology_runs_to_the_end(tmp_path: Path, topology: str) -> None:
    fields: dict[str, object] = {"network.topology": topology, "network.agents": 6}
    if topology == "erdos_renyi":
        fields["network.p"] = 0.6
    agrees(run_together(tmp_path / "run", fields=fields))


@pytest.mark.parametrize("algorithm", ["delmfw", "mfw", "bold-mfw", "dofw", "dgd"])
def test_a_lone_learner_runs_too(tmp_path: Path, algorithm: str) -> None:
    fields = {"network.agents": 1, "algorithm.name": algorithm, "problem.batch": 5}
    agrees(run_together(tmp_path / "run", fields=fields))


def test_the_other_distributed_algorithm_runs_too(tmp_path: Path) -> None:
    agrees(run_together(tmp_path / "run", fields={"algorithm.name": "distributed-dgd"}))


def test_drifting_data_are_read_in_order_by_everyone(tmp_path: Path) -> None:
    several_epochs = {"data.samples": 44, "problem.batch": 3, "problem.radius": 2}
    agrees(run_together(tmp_path / "run", fields={"data.drift": 0.5, **several_epochs}))


def test_dropped_feedback_never_arrives(tmp_path: Path) -> None:
    folder = run_together(tmp_path / "run", fields={"delays": "[{agents: [2], type: drop}]"})
    agrees(folder)
    arrived = dict.fromkeys(range(4), 0)
    for row in folder.rows():
        arrived[row.agent] += len(row.arrivals)
    assert arrived == {0: 9, 1: 9, 2: 0, 3: 9}


def test_by_rounds_the_least_room_that_is_allowed_is_enough(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    late = {"delays": "[{type: rounds, rounds: 4}]"}
    agrees(run_together(tmp_path / "run", fields={**late, "limits": "{link: 5, all: 20}"}))
    assert "is full" not in caplog.text


def test_by_the_wall_clock_agents_wait_for_room_and_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fields = {
        "clock": "wall",
        "pace": "5ms",
        "delays": "[{type: latency, latency: 80ms}]",
        "limits": "{link: 1, all: 3}",
        "algorithm.stop_after": 25,
    }
    folder = run_together(tmp_path / "run", fields=fields)
    verdict = verify(read(folder))
    assert verdict.passed, verdict
    assert verdict.plays == 4 * 25
    late = [row.late for row in folder.rows() if row.late is not None]
    ours = folder.summary()
    assert ours is not None
    assert ours.missed_ticks == len(late) > 0  # whoever waits for room misses its tick
    assert all(0 < seconds < ours.wall_seconds for seconds in late)
    assert "is full" in caplog.text
    assert "to submit: RESOURCE_EXHAUSTED" in caplog.text


def test_without_a_thread_or_a_process_they_play_and_record_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays = "[{agents: [2, 3], type: rounds, rounds: 4, jitter: 3}, {type: drop, probability: 0.2}]"
    threads = run_together(tmp_path / "threads" / "run", fields={"delays": delays}, machine=REAL)
    started: list[object] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread.name))
    monkeypatch.setattr(asyncio, "create_subprocess_exec", lambda *command, **_: started.append(command))
    inline = run_together(tmp_path / "inline" / "run", fields={"delays": delays})
    assert not started
    assert inline.rows() == threads.rows()
    agrees(inline)
    kinds = Counter(entry.kind for entry in inline.account())
    assert kinds[Kind.ACCEPTED] == 4 * 10
    assert kinds[Kind.COLLECTED] >= 4 * 9  # the last may come when all is over
    ours = inline.summary()
    assert ours is not None
    assert ours.comparator_gap is not None


@pytest.mark.slow
def test_thirty_agents_with_the_published_settings_agree_with_the_simulator(tmp_path: Path) -> None:
    published = {
        "network.agents": 30,
        "data.samples": 6_000,
        "data.features": 784,
        "data.classes": 10,
        "delays": "[{agents: {draw: 20, replacement: true}, type: rounds, rounds: 501}]",
        "algorithm.horizon": 1000,
        "algorithm.stop_after": 4,
    }
    agrees(run_together(tmp_path / "run", "paper-distributed", published))
