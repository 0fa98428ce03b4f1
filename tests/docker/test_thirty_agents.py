"""Thirty agents on a grid: `edgefw compose` writes them, they start, play twenty rounds, and stop."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from containers import Project, running
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.thorough, pytest.mark.slow]  # it fills the machine

AGENTS, ROUNDS = 30, 20
FIELDS = (
    "name=grid",
    f"network={{agents: {AGENTS}, topology: grid, rows: 5, cols: 6}}",
    "algorithm.horizon=1000",
    f"algorithm.stop_after={ROUNDS}",
    "algorithm.sub_iterations=4",
)


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    with running("grid", FIELDS) as found:
        yield found


def test_they_start_play_and_stop(project: Project, tmp_path: Path) -> None:
    took = until(
        lambda: "the run is over; staying up" in project.compose("logs", "observer"), "20 rounds", 120
    )
    memory = [each["memory"] / 1e6 for name, each in project.status().items() if name.startswith("agent-")]
    print(  # noqa: T201 - figures to look at
        f"started after {project.seconds:.1f} s, {ROUNDS} rounds within another {took:.1f} s, "
        f"{max(memory):.0f} MB an agent"
    )
    assert len(memory) == AGENTS
    assert max(memory) < 120
    project.compose("stop")
    ended = {name: each["State"]["ExitCode"] for name, each in project.containers().items()}
    assert ended == dict.fromkeys(ended, 0)
    folder = project.collect(tmp_path)
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["agents"], summary["rounds"]) == (AGENTS, ROUNDS)
    told = f"{AGENTS * ROUNDS} of {AGENTS * ROUNDS} plays are identical"
    assert told in project.in_image("verify", f"runs/{folder.name}")
