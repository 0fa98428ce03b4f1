"""Every Prometheus name, in one place. Base units; agents are told apart by the label `agent`."""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector

_ROUND_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WAIT_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
_DELAY_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
_FSYNC_BUCKETS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0)
_LATENESS_BUCKETS = (*(i / 1000 for i in range(1, 13)), 0.016, 0.025, 0.05, 0.1, 0.25, 0.5, 2.0)


def new_registry(role: str) -> CollectorRegistry:
    """Return a registry of this service alone: what was built, which role it has, what the process uses."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    Info("edgefw_build", "What is running.", registry=registry).info(
        {"version": version("edgefw"), "role": role}
    )
    return registry


class AgentMetrics:
    """What an agent exports about itself; every series has the label `agent`."""

    def __init__(self, registry: CollectorRegistry, agent: int) -> None:
        self._registry, self._agent = registry, str(agent)
        self.round = self._gauge("round", "The round of the last play.")
        self.round_duration = self._histogram(
            "round_duration_seconds", "From the start of a sweep to its play.", _ROUND_BUCKETS
        )
        self.local_loss = self._gauge("local_loss", "The last play's loss on the agent's own batch.")
        self.global_loss = self._gauge("global_loss", "The last scored play's loss on all agents' batches.")
        self.cumulative_loss = self._gauge("cumulative_loss", "Global losses of all scored plays, added up.")
        self.regret = self._gauge(
            "regret",
            "The regret so far is at least this: losses less those of the whole horizon's best point.",
        )
        self.regret.set(math.nan)  # not 0: it is not known yet
        self.outstanding = self._gauge(
            "feedback_outstanding", "Feedback submitted that has not come, and is not known to be dropped."
        )
        self.delay_rounds = self._gauge(
            "feedback_delay_rounds",
            "Delay of the feedback that was received last, in rounds, the longest of a sweep's; 1 is none.",
        )
        self.oldest_age = self._gauge(
            "oldest_feedback_age_rounds",
            "Delay so far of the oldest feedback that is still missing, in rounds; 0 if none is.",
        )
        self.dropped = self._count(
            "feedback_dropped_total", "Feedback that will never come: a fault drops it."
        )
        self._unusable = self._count(
            "feedback_rejected_total", "Feedback that came and could not be used.", "reason"
        )
        self.delay_seconds = self._histogram(
            "feedback_delay_seconds", "From submission to receipt, on the agent's clock.", _DELAY_BUCKETS
        )
        self.observed_delay = self._gauge(
            "feedback_observed_delay_seconds", "From submission to receipt of the last received feedback."
        )
        self.requested_delay = self._gauge(
            "feedback_requested_delay",
            "What the broker was to add to the last received feedback (its clock's unit).",
        )
        self.total_delay = self._gauge("total_delay_rounds", "B_i so far: delays of all feedback, in rounds.")
        self._wait = Histogram(
            "edgefw_agent_exchange_wait_seconds",
            "Waiting for a neighbour's frame.",
            ["agent", "peer"],
            buckets=_WAIT_BUCKETS,
            registry=registry,
        )
        self._waiting = self._per_peer(
            "waiting_seconds", "How long the agent has now waited for this neighbour."
        )
        self._up = self._per_peer("peer_up", "Whether the stream to this neighbour stands.")
        self._frames = self._count(
            "peer_frames_total", "Frames exchanged with a neighbour.", "peer", "direction"
        )
        self._bytes = self._count(
            "peer_bytes_total", "Bytes exchanged with a neighbour.", "peer", "direction"
        )
        self._rejected = self._count(
            "peer_rejected_total", "Streams ended because of what a peer sent.", "peer", "reason"
        )

    def wait(self, peer: int, seconds: float) -> None:
        """Count a wait that is over."""
        self._wait.labels(self._agent, str(peer)).observe(seconds)

    def waiting(self, peer: int, seconds: float) -> None:
        """Show a wait that goes on (0: it is over)."""
        self._waiting.labels(self._agent, str(peer)).set(seconds)

    def peer_up(self, peer: int, *, up: bool) -> None:
        """Show whether the stream to a neighbour stands."""
        self._up.labels(self._agent, str(peer)).set(int(up))

    def frame(self, peer: int, direction: str, size: int) -> None:
        """Count a frame `sent` or `received`."""
        self._frames.labels(self._agent, str(peer), direction).inc()
        self._bytes.labels(self._agent, str(peer), direction).inc(size)

    def rejected(self, peer: str, reason: str) -> None:
        """Count a stream that was ended because of what came over it."""
        self._rejected.labels(self._agent, peer, reason).inc()

    def unusable(self, reason: str) -> None:
        """Count a feedback that came and could not be used."""
        self._unusable.labels(self._agent, reason).inc()

    def _gauge(self, name: str, text: str) -> Gauge:
        gauge = Gauge(f"edgefw_agent_{name}", text, ["agent"], registry=self._registry)
        return gauge.labels(self._agent)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        full = f"edgefw_agent_{name}"
        return Histogram(full, text, ["agent"], buckets=buckets, registry=self._registry).labels(self._agent)

    def _per_peer(self, name: str, text: str) -> Gauge:
        return Gauge(f"edgefw_agent_{name}", text, ["agent", "peer"], registry=self._registry)

    def _count(self, name: str, text: str, *labels: str) -> Counter:
        counter = Counter(f"edgefw_agent_{name}", text, ["agent", *labels], registry=self._registry)
        return counter if labels else counter.labels(self._agent)


class BrokerMetrics:
    """What the broker exports; every series of a link has the label `agent`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        link: dict[str, Any] = {"labelnames": ["agent"], "registry": registry}
        self.depth = Gauge(
            "edgefw_broker_queue_depth", "Feedback held, by state.", ["agent", "state"], registry=registry
        )
        self.oldest_age = Gauge(
            "edgefw_broker_oldest_feedback_age_seconds", "Age of the oldest pending feedback.", **link
        )
        self.requested = Gauge(
            "edgefw_broker_requested_delay_seconds", "Last delay drawn for a link.", **link
        )
        self.requested_rounds = Gauge(
            "edgefw_broker_requested_delay_rounds", "Last delay drawn, in rounds.", **link
        )
        self.lateness = Histogram(
            "edgefw_broker_lateness_seconds",
            "Release after the due time.",
            buckets=_LATENESS_BUCKETS,
            registry=registry,
        )
        self.fsync = Histogram(
            "edgefw_broker_journal_fsync_seconds",
            "Commit of a group of feedbacks to the journal.",
            buckets=_FSYNC_BUCKETS,
            registry=registry,
        )
        self.accepted = Counter("edgefw_broker_accepted_total", "Feedback taken over.", **link)
        self.delivered = Counter(
            "edgefw_broker_delivered_total", "Feedback acknowledged by its agent.", **link
        )
        self.redelivered = Counter("edgefw_broker_redelivered_total", "Feedback sent again.", **link)
        self.dropped = Counter(
            "edgefw_broker_dropped_total", "Feedback taken over that will never be delivered.", **link
        )
        self.rejected = Counter(
            "edgefw_broker_rejected_total", "Requests refused.", ["agent", "reason"], registry=registry
        )
        self.limit = Gauge(
            "edgefw_broker_queue_limit",
            "How much feedback may be pending, on a link and in all.",
            ["scope"],
            registry=registry,
        )
        self.held_bytes = Gauge(
            "edgefw_broker_held_bytes", "Feedback in memory, until its agent has it.", registry=registry
        )
        self.held_limit = Gauge(
            "edgefw_broker_held_limit_bytes",
            "How much feedback may be in memory: as the scenario says, or what memory there is for.",
            registry=registry,
        )
        self.plan_changes = Counter(
            "edgefw_broker_plan_changes_total", "Changes of the delay plan.", registry=registry
        )


class ObserverMetrics:
    """What the observer exports about the whole network."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.regret = Gauge(
            "edgefw_network_regret",
            "An agent's largest regret so far is at least this; at most this plus the gap, if all rounds "
            "that were compared are played.",
            registry=registry,
        )
        self.loss = Gauge(
            "edgefw_network_loss", "max_i F_t(x_t^i) of the last scored round.", registry=registry
        )
        self.total_loss = Gauge(
            "edgefw_network_total_loss", "Sum of the network losses so far.", registry=registry
        )
        self.consensus = Gauge(
            "edgefw_network_consensus_distance",
            "Largest distance of a play from their mean.",
            registry=registry,
        )
        self.gap = Gauge(
            "edgefw_network_comparator_gap",
            "How far the fixed point that regret is measured against may be from the best one.",
            registry=registry,
        )
        self.compared = Gauge(
            "edgefw_network_comparator_rounds",
            "The rounds for which that fixed point was sought: the horizon, at the end the rounds played.",
            registry=registry,
        )
        self.comparator_failures = Counter(
            "edgefw_network_comparator_failures_total",
            "How often the search for the best fixed point has failed; the run goes on without it.",
            registry=registry,
        )
        self.round = Gauge("edgefw_network_round", "The last round scored for all agents.", registry=registry)
        self.agent_awaited = Gauge(
            "edgefw_network_agent_awaited_seconds",
            "How long the run has waited for this agent: it is away, or has not reported what others have.",
            ["agent"],
            registry=registry,
        )
        self.broker_awaited = Gauge(
            "edgefw_network_broker_awaited_seconds",
            "How long the broker has been away; up to a second or two is nothing.",
            registry=registry,
        )
        self.silence = Gauge(
            "edgefw_network_silence_seconds",
            "How long no agent has reported, beyond the length of a round; 0 when the run is over.",
            registry=registry,
        )
        self.outside = Counter(
            "edgefw_network_infeasible_plays_total", "Plays outside the feasible set.", registry=registry
        )
        self.rejected = Counter(
            "edgefw_network_reports_rejected_total",
            "Streams of reports that were ended because of what came over them.",
            ["reason"],
            registry=registry,
        )
