"""A scenario over the services, which has to come to what the simulator says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from together import run_together

import edgefw
from edgefw.scenario.load import load
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from edgefw.records import RunFolder, Summary


def run_as_simulated(path: Path, given: Mapping[str, Any]) -> tuple[RunFolder, Summary]:
    """Run 8 rounds of 4 agents whose scenario has these fields: every play is right, as is the summary."""
    simulated = edgefw.simulate(load("default", dict(given)))
    folder = run_together(path, fields={name: json.dumps(value) for name, value in given.items()})
    verdict = verify(read(folder))
    assert verdict.passed, verdict
    assert verdict.identical == verdict.plays == 4 * 8
    ours = folder.summary()
    assert ours is not None
    assert ours.total_loss == pytest.approx(simulated.summary.total_loss, rel=1e-3)
    assert ours.total_delay == simulated.summary.total_delay
    return folder, ours
