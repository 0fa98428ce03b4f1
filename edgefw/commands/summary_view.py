"""A run's summary as tables: the same whether it was simulated or emulated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.records import SUMMARY, AgentSummary, Summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_HEADER = (
    "seed",
    "total loss",
    "network regret",
    "best fixed point",
    "B",
    "B / rounds",
    "unused",
    "seconds",
)


def read(folder: Path) -> Summary | None:
    """Return the summary of a run folder, or None where there is none."""
    try:
        fields = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    per_agent = tuple(AgentSummary(**agent) for agent in fields.pop("per_agent"))
    return Summary(**fields, per_agent=per_agent)


def show(summaries: Sequence[Summary], folder: Path) -> None:
    """Print the summaries of runs of one scenario, and the folder they are in."""
    first = summaries[0]
    terminal.table(
        f"{first.name}: {first.algorithm}, {first.agents} agents, {first.rounds} rounds of {first.data}",
        _HEADER,
        [_row(summary) for summary in summaries],
    )
    terminal.out.print(f"rate {first.rate:.4g}: {first.rate_reason}")
    if len(summaries) == 1:
        _show_agents(first)
    else:
        losses = [summary.total_loss for summary in summaries]
        terminal.out.print(
            f"total loss {np.mean(losses):.2f} +- {np.std(losses, ddof=1):.2f} over {len(losses)} seeds"
        )
    terminal.out.print(f"written to {folder}", markup=False)


def _show_agents(summary: Summary) -> None:
    terminal.table(
        "agents",
        ("agent", "cumulative loss", "regret", "total delay"),
        [
            [str(a.agent), f"{a.cumulative_loss:.2f}", _number(a.regret), str(a.total_delay)]
            for a in summary.per_agent
        ],
    )


def _row(summary: Summary) -> list[str]:
    regret = _number(summary.network_regret)
    if summary.comparator_gap is not None:
        regret += f" (+{summary.comparator_gap:.2f})"
    return [
        str(summary.seed),
        f"{summary.total_loss:.2f}",
        regret,
        _number(summary.comparator_loss),
        f"{summary.total_delay:.0f}",
        f"{summary.total_delay / max(1, summary.rounds):.2f}",
        str(summary.unused),
        f"{summary.wall_seconds:.1f}",
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
