"""A run whose broker was killed and started again, twice, is verified: what it had not told is excused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import playback
import pytest
import whole_run
from forger import Forger, at_once, never
from whole_run import KILL

from edgefw.core.account import Kind
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("machine")  # a run by the clock: one at a time


@pytest.mark.parametrize(
    ("clock", "slow", "slower"),
    [
        (
            "wall",
            {"type": "latency", "latency": "130ms", "jitter": "100ms", "distribution": "uniform"},
            "300ms",
        ),
        ("rounds", {"type": "rounds", "rounds": 3, "jitter": 1}, 4),
    ],
)
def test_a_run_whose_broker_was_killed_is_verified_and_forgeries_of_it_are_not(
    tmp_path: Path, clock: str, slow: dict[str, Any], slower: object
) -> None:
    added = {"name": "more", "type": slow["type"], "attributes": {slow["type"]: slower}}
    scenario = playback.scenario(
        clock=clock, pace="60ms", algorithm={"horizon": 24}, delays=[slow | {"agents": [0, 1]}]
    )
    steps: list[whole_run.Step] = [
        (5, KILL, "", None),
        (8, "POST", "/links/2/faults", added),
        (8, KILL, "", None),
        (14, "DELETE", "/links/2/faults/more", None),
    ]
    honest = whole_run.run(tmp_path, scenario, steps)
    begun = [entry for entry in honest.account() if entry.kind is Kind.BEGUN]
    assert len(begun) == 3
    verdict = verify(read(honest))
    assert verdict.refusal is None
    assert verdict.passed, verdict
    for number, false in enumerate((at_once, never)):
        forger = Forger(honest, tmp_path / f"forged-{number}")
        forger.arrivals(false, payloads=True)
        assert verify(read(forger.folder)).refusal is not None
