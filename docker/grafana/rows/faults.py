"""The row of faults of the network: who is gone, and who waits for whom. A healthy run has zeros here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.models import units
from panels import Query, chart

from rows.queries import AGENT, RATE

if TYPE_CHECKING:
    from panels import Panel


def panels() -> list[Panel]:
    """Return the panels of the row."""
    waiting = f"edgefw_agent_waiting_seconds{{{AGENT}}} or edgefw_agent_peer_up{{{AGENT}}} * 0"
    ended = f"sum by (reason) (rate(edgefw_agent_peer_rejected_total{{{AGENT}}}{RATE})) or vector(0)"
    return [
        chart(
            "Streams down",
            "How many of an agent's streams to its neighbours do not stand. In a healthy run it is 0. The "
            "agent that is gone says nothing: its neighbours have one stream down each.",
            units.NoUnit,
            Query(f"sum by (agent) (1 - edgefw_agent_peer_up{{{AGENT}}})"),
        ),
        chart(
            "Waiting now",
            "For how long an agent has waited for one neighbour, from one second on. In a healthy run it is "
            "0. The one to look at is waited for and waits for nobody.",
            units.Seconds,
            Query(waiting, "{{agent}} for {{peer}}"),
        ),
        chart(
            "Awaited by the run",
            "For how long the observer has waited for an agent or for the broker: it is away, or has not "
            "reported what others have. Agents report one after the other, so a fraction of a second is "
            "usual.",
            units.Seconds,
            Query(f"edgefw_network_agent_awaited_seconds{{{AGENT}}}"),
            Query("edgefw_network_broker_awaited_seconds", "broker"),
        ),
        chart(
            "Streams set up again",
            "Streams to neighbours that were set up, a second. Each is set up once, when the run begins; "
            "what shows later is a stream that was lost and is back. In a healthy run it is 0.",
            units.CountsPerSecond,
            Query(f"sum by (agent) (rate(edgefw_agent_peer_connects_total{{{AGENT}}}{RATE}))"),
        ),
        chart(
            "Silence",
            "For how long no agent has reported, beyond the length of a round. In a healthy run it is 0.",
            units.Seconds,
            Query("edgefw_network_silence_seconds", "no report"),
        ),
        chart(
            "Streams ended for what came over them",
            "Streams that an agent ended because of what a neighbour sent, a second, by reason. In a healthy "
            "run there is no reason to name, and one line at 0.",
            units.CountsPerSecond,
            Query(ended, "{{reason}}"),
        ),
    ]
