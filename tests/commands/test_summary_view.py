"""The closing tables: as long as a person reads, and a warning where the pace was missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefw.commands import summary_view
from edgefw.records import AgentSummary, Summary


def summary(agents: int, reached: float = 0.25) -> Summary:
    """Return the summary of a run in which agent 7 is the latest and losses grow with the agent."""
    each = (AgentSummary(i, 100.0 + i, 1.0, 900 if i == 7 else 10) for i in range(agents))
    facts = {"name": "x", "digest": "d", "mode": "up", "algorithm": "de2mfw", "seed": 1, "data": "tiny"}
    scores = {"total_loss": 1.0, "network_regret": 1.0, "comparator_loss": 1.0, "comparator_gap": 0.1}
    counts = {"agents": agents, "rounds": 40, "total_delay": 9.0, "unused": 0, "messages": 1}
    sizes = {"bytes": 2, "wire_bytes": 1}
    pace = {"pace_asked": 0.25, "pace_reached": reached, "pace_kept": reached <= 0.25, "missed_ticks": 0}
    rate = {"rate": 0.5, "rate_reason": "given", "wall_seconds": 9.0}
    return Summary(**facts, **scores, **counts, **sizes, **pace, **rate, per_agent=tuple(each))  # type: ignore[arg-type]


@pytest.mark.parametrize("agents", [8, 1000])
def test_the_closing_table_is_one_that_can_be_read(agents: int, capsys: pytest.CaptureFixture[str]) -> None:
    summary_view.show([summary(agents)], Path("runs"))
    said = capsys.readouterr().out
    rows = [line for line in said.splitlines() if ".00" in line and "10" in line]
    assert len(said.splitlines()) < 60
    for cumulative in (100.0, 99.0 + agents, 107.0):  # the best, the worst, the latest
        assert any(f"{cumulative:.2f}" in line for line in rows)
    assert ("... and 970 more, in summary.json" in said) == (agents == 1000)
    assert "warning" not in said


def test_a_pace_that_was_missed_is_said_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    summary_view.show([summary(2, reached=1.0)], Path("runs"))
    assert "warning: pace missed: rounds take 1s, 250ms was asked for" in capsys.readouterr().out
