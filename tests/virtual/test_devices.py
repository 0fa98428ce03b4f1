"""What computing costs: on virtual time exactly what the scenario says, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from emulated import SMALL

import edgefw
from edgefw.records import RunFolder
from edgefw.scenario.load import load

if TYPE_CHECKING:
    from pathlib import Path

FIELDS: dict[str, Any] = {**SMALL, "data.features": 6, "algorithm.horizon": 9, "algorithm.stop_after": 9}
K, ROUNDS = 3, 9
LATE = [{"type": "rounds", "agents": [1], "rounds": 3}]


def played(path: Path, **fields: Any) -> RunFolder:
    edgefw.emulate(load("default", {**FIELDS, "delays": LATE, **fields}), out=path, virtual=True)
    return RunFolder(path)


def seconds(folder: RunFolder) -> float:
    """Return how long the run took from its first play to its last."""
    summary = folder.summary()
    assert summary is not None
    return summary.wall_seconds


def hashes(folder: RunFolder) -> dict[tuple[int, int], str | None]:
    return {(row.round, row.agent): row.hash for row in folder.rows()}


def test_rounds_take_what_computing_takes_and_plays_are_the_same(tmp_path: Path) -> None:
    free = played(tmp_path / "free")
    assert seconds(free) == 0.0
    even = played(tmp_path / "even", devices={"compute": "2ms"})
    assert seconds(even) == pytest.approx((ROUNDS - 1) * K * 0.002, abs=1e-6)
    slow = {"compute": "2ms", "others": [{"agents": [3], "compute": "20ms"}]}
    waiting = played(tmp_path / "slow", devices=slow)
    ahead = 2 * 0.018  # whoever is two edges away from the slow one, in its first play
    assert seconds(waiting) == pytest.approx(ahead + (ROUNDS - 1) * K * 0.020, abs=1e-6)
    assert hashes(free) == hashes(even) == hashes(waiting)
    assert len(hashes(free)) == ROUNDS * 4


def test_a_device_that_is_too_slow_for_the_pace_misses_its_ticks(tmp_path: Path) -> None:
    fields = {"clock": "wall", "pace": "50ms", "delays": []}
    others = [{"agents": [0], "compute": "20ms"}]
    folder = played(tmp_path / "run", devices={"others": others}, **fields)
    # Round 1 takes 60 ms, and whoever is far away is 40 ms ahead. Then comes a tick, and then none is met.
    assert seconds(folder) == pytest.approx(0.040 + 0.050 + (ROUNDS - 1) * K * 0.020, abs=1e-6)
    assert {row.round for row in folder.rows() if row.agent == 0 and row.late} == set(range(3, ROUNDS + 1))
    summary = folder.summary()
    assert summary is not None
    assert summary.pace_kept is False
