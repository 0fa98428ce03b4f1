"""Every ready-made scenario on virtual time: what is played is what the core plays in lockstep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import edgefw
from edgefw.records import RunFolder
from edgefw.scenario.load import load, names
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 6
SHORT: dict[str, Any] = {
    "data.source": "synthetic",
    "data.samples": 240,
    "data.features": 8,
    "data.classes": 4,
    "algorithm.stop_after": ROUNDS,
    "algorithm.sub_iterations": 3,
}


@pytest.mark.parametrize("name", names())
def test_a_ready_made_scenario_is_played_as_its_replay_says(name: str, tmp_path: Path) -> None:
    scenario = load(name, SHORT)
    edgefw.emulate(scenario, out=tmp_path / "run", virtual=True)
    verdict = verify(read(RunFolder(tmp_path / "run")))
    assert verdict.passed, verdict
    assert verdict.identical == verdict.plays == ROUNDS * scenario.network.agents
