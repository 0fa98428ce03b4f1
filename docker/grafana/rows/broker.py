"""The row of the broker: queues, delays, and what it adds to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.models import units
from panels import Query, chart

from rows.queries import AGENT, RATE, quantiles

if TYPE_CHECKING:
    from panels import Panel


def panels() -> list[Panel]:
    """Return the panels of the row."""
    used = 'max(edgefw_broker_queue_depth{state="pending"}) / on () edgefw_broker_queue_limit{scope="link"}'
    total = 'sum(edgefw_broker_queue_depth{state="pending"}) / on () edgefw_broker_queue_limit{scope="all"}'
    return [
        chart(
            "Queue depth",
            "Feedback by link and state: pending is held back, due is released and not yet acknowledged.",
            units.NoUnit,
            Query(f"edgefw_broker_queue_depth{{{AGENT}}}", "agent {{agent}}, {{state}}"),
        ),
        chart(
            "Requested and observed delay",
            "The delay that the broker drew last, and what the agent measured from submission to receipt.",
            units.Seconds,
            Query(f"edgefw_broker_requested_delay_seconds{{{AGENT}}}", "agent {{agent}}, requested"),
            Query(f"edgefw_agent_feedback_observed_delay_seconds{{{AGENT}}}", "agent {{agent}}, observed"),
        ),
        chart(
            "Lateness",
            "How long after its due time feedback is released: what the broker adds that nobody asked for.",
            units.Seconds,
            *quantiles("edgefw_broker_lateness_seconds", (0.5, 0.95, 0.99)),
        ),
        chart(
            "Observed delay",
            "Submission to receipt on the agents' clocks, over all selected agents.",
            units.Seconds,
            *quantiles("edgefw_agent_feedback_delay_seconds", (0.5, 0.95), AGENT),
        ),
        chart(
            "Oldest pending feedback",
            "For how long the broker has had the oldest feedback of a link that is not yet due.",
            units.Seconds,
            Query(f"edgefw_broker_oldest_feedback_age_seconds{{{AGENT}}}"),
        ),
        chart(
            "Throughput",
            "Feedback a second: taken over, acknowledged by its agent, sent again, dropped for good.",
            units.CountsPerSecond,
            Query(f"sum(rate(edgefw_broker_accepted_total{{{AGENT}}}{RATE}))", "accepted"),
            Query(f"sum(rate(edgefw_broker_delivered_total{{{AGENT}}}{RATE}))", "delivered"),
            Query(f"sum(rate(edgefw_broker_redelivered_total{{{AGENT}}}{RATE}))", "sent again"),
            Query(f"sum(rate(edgefw_broker_dropped_total{{{AGENT}}}{RATE}))", "dropped"),
        ),
        chart(
            "Refusals",
            "Requests a second that the broker refused, by reason. In a healthy run it is 0. At `full` the "
            "agent waits and retries.",
            units.CountsPerSecond,
            Query(f"sum by (reason) (rate(edgefw_broker_rejected_total{{{AGENT}}}{RATE}))", "{{reason}}"),
        ),
        chart(
            "Queue used",
            "The fullest link, and all links together, against their limits.",
            units.PercentUnit,
            Query(used, "fullest link"),
            Query(total, "all links"),
        ),
        chart(
            "Journal commit",
            "How long the disk takes to keep a group of feedbacks. Acknowledgements wait for it, "
            "deliveries do not.",
            units.Seconds,
            *quantiles("edgefw_broker_journal_fsync_seconds", (0.5, 0.99)),
        ),
    ]
