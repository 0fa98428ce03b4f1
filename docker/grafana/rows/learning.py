"""The row of regrets and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.models import units
from panels import Query, chart

from rows.queries import AGENT

if TYPE_CHECKING:
    from panels import Panel


def panels() -> list[Panel]:
    """Return the panels of the row."""
    regret = f"edgefw_agent_regret{{{AGENT}}}"
    return [
        chart(
            "Regret, at least",
            "A lower bound of the regret so far: losses of an agent, less those of the best fixed point of "
            "the whole horizon. Where agents learn, it grows ever slower. Empty in the first rounds, while "
            "that point is sought.",
            units.NoUnit,
            Query(regret),
            floor=None,
        ),
        chart(
            "Regret / sqrt(B), at least",
            "The lower bound of the regret over the root of the total delay: by the paper's theorems it "
            "stays below a constant. Empty in the first rounds, as regret is.",
            units.NoUnit,
            Query(f"{regret} / scalar(sqrt(avg(edgefw_agent_total_delay_rounds)))"),
            floor=None,
        ),
        chart(
            "Cumulative loss",
            "Losses on all agents' batches, of all scored plays, added up.",
            units.NoUnit,
            Query(f"edgefw_agent_cumulative_loss{{{AGENT}}}"),
        ),
        chart(
            "Loss on all batches",
            "Each agent's play, scored on the batches of all agents; the network's loss is the largest.",
            units.NoUnit,
            Query(f"edgefw_agent_global_loss{{{AGENT}}}"),
            Query("edgefw_network_loss", "network"),
        ),
        chart(
            "Loss on the own batch",
            "Each agent's play on its own batch of the round: what it feels, and noisier than what counts.",
            units.NoUnit,
            Query(f"edgefw_agent_local_loss{{{AGENT}}}"),
        ),
        chart(
            "Disagreement and gap",
            "How far the play furthest from the mean of all is from it; and how far the loss of the fixed "
            "point that regret is measured against may be from the least, over the whole horizon.",
            units.NoUnit,
            Query("edgefw_network_consensus_distance", "disagreement"),
            Query("edgefw_network_comparator_gap", "gap of the comparator"),
        ),
    ]
