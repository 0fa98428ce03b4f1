"""The first row: whether all is well, and what a posted delay does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.models import units
from panels import Query, chart, number

from rows.queries import AGENT, ROLES

if TYPE_CHECKING:
    from panels import Panel


def panels() -> list[Panel]:
    """Return the panels of the row."""
    delay = Query(f"edgefw_agent_feedback_delay_rounds{{{AGENT}}}")
    missing = Query(f"edgefw_agent_oldest_feedback_age_rounds{{{AGENT}}}")
    depth = Query(f'edgefw_broker_queue_depth{{{AGENT}, state="pending"}}')
    return [
        number("Round", "The round that every agent has played.", units.NoUnit, "min(edgefw_agent_round)"),
        number(
            "Network loss",
            "The largest of the agents' losses on all batches of the last scored round.",
            units.NoUnit,
            "edgefw_network_loss",
        ),
        number(
            "Network regret, at least",
            "A lower bound while the run goes on: losses so far of the agent that has the most, less those "
            "of the best fixed point of the whole horizon. The best point of the rounds so far loses less, "
            "so the regret so far is at least this. When the last round is played it is the regret, up to "
            "the gap. Not yet known in the first rounds, while the point is sought.",
            units.NoUnit,
            "edgefw_network_regret",
        ),
        number(
            "Total delay B",
            "For how many rounds feedback has been missing, added up, the mean over agents. Without delay "
            "it is the number of rounds.",
            units.NoUnit,
            "avg(edgefw_agent_total_delay_rounds)",
        ),
        number(
            "Services down",
            "Services that Prometheus gets no answer from. Agents whose neighbour is gone wait for it.",
            units.NoUnit,
            f"count(up{{{ROLES}}}) - sum(up{{{ROLES}}})",
            red_from=1,
        ),
        number(
            "Alerts firing",
            "See Alerts in Prometheus for what they say.",
            units.NoUnit,
            'count(ALERTS{alertstate="firing"}) or vector(0)',
            red_from=1,
        ),
        chart(
            "Delay of feedback",
            "How many rounds after its own the last received feedback came; 1 is none. A posted delay "
            "shows here first; what has not come yet does not.",
            units.NoUnit,
            delay,
            width=12,
        ),
        chart(
            "Oldest missing feedback",
            "For how many rounds the oldest feedback that an agent still misses has been missing; 0 if none "
            "is. A blackout shows here: it climbs by one a round.",
            units.NoUnit,
            missing,
            width=12,
        ),
        chart(
            "Feedback on its way",
            "What the broker holds back, by agent. A delay deepens the queue of its agent and no other.",
            units.NoUnit,
            depth,
        ),
        chart(
            "Rounds played and recorded",
            "The furthest round that an agent has played, and the last that the observer has recorded of all "
            "agents. They stay together; where they part, reports are missing.",
            units.NoUnit,
            Query("max(edgefw_agent_round)", "played"),
            Query("edgefw_network_round", "recorded"),
        ),
        chart(
            "Pace asked for and reached",
            "How long a round is to take, and how long the last twenty took on average. Above what was "
            "asked for, the machine is too slow: delays in time are then fewer rounds than they should be. "
            "Asked for is 0 where the scenario says asap.",
            units.Seconds,
            Query("edgefw_network_pace_asked_seconds", "asked for"),
            Query("edgefw_network_pace_reached_seconds", "reached"),
        ),
    ]
