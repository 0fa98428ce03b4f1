"""`edgefw bench`: what it can measure, and how it shows what it found."""

from __future__ import annotations

import json

import pytest

from edgefw.benchmarks import startup
from edgefw.benchmarks.measure import BenchResult, Costs, Progress, UnitCost
from edgefw.cli import main

RESULT = BenchResult(
    "startup",
    "from the command to the first play",
    "start",
    (
        Costs("floor", (UnitCost(1.0, 2.0), UnitCost(2.0, 2.0))),
        Costs("ours", (UnitCost(2.0, 6.0), UnitCost(5.0, 6.0))),
    ),
    (Costs("ours", (UnitCost(2.0, 6.0),)).beside(Costs("floor", (UnitCost(1.0, 2.0),))),),
    {"something": 1.5},
    ("a note",),
)


@pytest.fixture(autouse=True)
def _measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(repeats: int, progress: Progress) -> BenchResult:
        assert repeats == 7
        progress(1, 1)
        return RESULT

    monkeypatch.setattr(startup, "measure", measure)


def test_a_result_is_shown_as_medians_with_their_spread_and_ratios(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "startup", "--runs", "7"]) == 0
    shown = capsys.readouterr().out
    assert "1500 (1000 - 2000)" in shown  # the floor, in milliseconds
    assert "ours / floor" in shown
    assert "3.00 (3.00 - 3.00)" in shown
    assert shown.endswith("a note\n")


def test_programs_get_all_figures_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "startup", "--runs", "7", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document["measured"]["ours"]["wall_seconds"] == {"middle": 3.5, "low": 2.0, "high": 5.0}
    assert document["ratios"][0]["cpu"]["middle"] == 3.0
    assert document["figures"] == {"something": 1.5}


def test_what_cannot_be_measured_is_told_with_what_can(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gosip"]) == 2
    said = capsys.readouterr().err
    assert "gosip" in said
    assert "gossip" in said
    assert said.count("\n") == 1
