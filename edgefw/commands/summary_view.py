"""A run's summary as tables: the same whether it was simulated or emulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.records import SUMMARY, AgentSummary, Summary
from edgefw.scenario.pace import warning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST_SHOWN = 30
"""Agents in the closing table: more are no help, all are in the summary."""

TWO_SUMS = (
    "total loss adds up the worst loss of every round (a sum of maxima), network regret is the largest "
    "regret of an agent (a maximum of sums): total loss less the best fixed point is nobody's regret"
)
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


def show(summaries: Sequence[Summary], folder: Path) -> None:
    """Print the summaries of runs of one scenario, and the folder they are in."""
    first = summaries[0]
    terminal.table(
        f"{first.name}: {first.algorithm}, {first.agents} agents, {first.rounds} rounds of {first.data}",
        _HEADER,
        [_row(summary) for summary in summaries],
    )
    if first.network_regret is not None:
        terminal.out.print(TWO_SUMS)
    terminal.out.print(f"rate {first.rate:.4g}: {first.rate_reason}")
    if len(summaries) == 1:
        _show_agents(first)
    else:
        losses = [summary.total_loss for summary in summaries]
        terminal.out.print(
            f"total loss {np.mean(losses):.2f} +- {np.std(losses, ddof=1):.2f} over {len(losses)} seeds"
        )
    for summary in summaries:
        if summary.pace_kept is False and summary.pace_asked and summary.pace_reached:
            terminal.out.print(f"warning: {warning(summary.pace_asked, summary.pace_reached)}")
    terminal.out.print(f"written to {folder}", markup=False)


def _show_agents(summary: Summary) -> None:
    shown = _foremost(summary.per_agent)
    left_out = len(summary.per_agent) - len(shown)
    terminal.table(
        "agents" if not left_out else "agents: those with the largest and least loss, and the most delay",
        ("agent", "cumulative loss", "regret", "total delay"),
        [
            [str(a.agent), f"{a.cumulative_loss:.2f}", terminal.number(a.regret), str(a.total_delay)]
            for a in shown
        ],
    )
    if left_out:
        terminal.out.print(f"... and {left_out} more, in {SUMMARY}")


def _foremost(agents: Sequence[AgentSummary]) -> list[AgentSummary]:
    """Return the agents that the closing table shows: all of a few, of many the worst, best and latest."""
    if len(agents) <= MOST_SHOWN:
        return list(agents)
    by_loss = sorted(agents, key=lambda a: -a.cumulative_loss)
    latest = sorted(agents, key=lambda a: -a.total_delay)
    turns = (a for each in zip(by_loss, latest, reversed(by_loss), strict=True) for a in each)
    return sorted(list(dict.fromkeys(turns))[:MOST_SHOWN], key=lambda a: a.agent)


def _row(summary: Summary) -> list[str]:
    regret = terminal.number(summary.network_regret)
    if summary.comparator_gap is not None:
        regret += f" (+{summary.comparator_gap:.2f})"
    return [
        str(summary.seed),
        f"{summary.total_loss:.2f}",
        regret,
        terminal.number(summary.comparator_loss),
        f"{summary.total_delay:.0f}",
        f"{summary.total_delay / max(1, summary.rounds):.2f}",
        str(summary.unused),
        f"{summary.wall_seconds:.1f}",
    ]
