"""The row of the agents: rounds, time and traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.models import units
from panels import Query, chart

from rows.queries import AGENT, RATE, mean, of_agents

if TYPE_CHECKING:
    from panels import Panel


def panels() -> list[Panel]:
    """Return the panels of the row."""
    return [
        chart(
            "Round",
            "The round of an agent's last play. Neighbours stay together.",
            units.NoUnit,
            of_agents("round"),
        ),
        chart(
            "Rounds a second",
            "Plays a second. It is one over the length of a round; the first row has that, asked for and "
            "reached.",
            units.CountsPerSecond,
            Query(f"rate(edgefw_agent_round_duration_seconds_count{{{AGENT}}}{RATE})"),
        ),
        chart(
            "Round time",
            "From the start of a sweep to its play, on average: computing, exchanging and waiting.",
            units.Seconds,
            mean("edgefw_agent_round_duration_seconds"),
        ),
        chart(
            "Share of time waiting on neighbours",
            "How much of its time an agent waits for a frame of a neighbour.",
            units.PercentUnit,
            Query(f"sum by (agent) (rate(edgefw_agent_exchange_wait_seconds_sum{{{AGENT}}}{RATE}))"),
        ),
        chart(
            "Outstanding feedback",
            "Feedback submitted that has not come, and is not known to be dropped.",
            units.NoUnit,
            of_agents("feedback_outstanding"),
        ),
        chart(
            "Frames sent",
            "Messages to neighbours a second.",
            units.CountsPerSecond,
            Query(
                f'sum by (agent) (rate(edgefw_agent_peer_frames_total{{{AGENT}, direction="sent"}}{RATE}))'
            ),
        ),
        chart(
            "Traffic sent",
            "Bytes to neighbours a second. Sparse iterates are what keeps it low.",
            units.BytesPerSecondSI,
            Query(f'sum by (agent) (rate(edgefw_agent_peer_bytes_total{{{AGENT}, direction="sent"}}{RATE}))'),
        ),
    ]
