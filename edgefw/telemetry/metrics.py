"""Every Prometheus name, in one place. Base units; agents are told apart by the label `agent`."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.registry import Collector

from edgefw.delays.change import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prometheus_client import Metric

M = TypeVar("M", Gauge, Counter, Histogram)

_ROUND_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WAIT_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
_DELAY_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
_FSYNC_BUCKETS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0)
_LATENESS_BUCKETS = (*(i / 1000 for i in range(1, 13)), 0.016, 0.025, 0.05, 0.1, 0.25, 0.5, 2.0)
_WAYS = 32  # of changing the plan that are shown: a script that changes it without end fills no Prometheus


def new_registry(role: str) -> CollectorRegistry:
    """Return a registry of this service alone: what was built, which role it has, what the process uses."""
    registry = CollectorRegistry()
    registry.register(_process())
    Info("edgefw_build", "What is running.", registry=registry).info({"version": _version(), "role": role})
    return registry


def strangers(registry: CollectorRegistry) -> Callable[[], None]:
    """Return what counts a call that may not enter."""
    refused = "Calls that were refused for want of the run's token."
    return Counter("edgefw_calls_unauthenticated_total", refused, registry=registry).inc


@cache
def _process() -> ProcessCollector:
    return ProcessCollector(registry=None)  # reads when the machine was started


@cache
def _version() -> str:
    return version("edgefw")  # reads a file


class _Names:
    """Makes the metrics of one service, whose names begin alike; with `agent`, each has that label first.

    One whose labels are all known is returned as the series that it is, any other one waits for its labels.
    """

    def __init__(self, registry: CollectorRegistry, prefix: str, agent: str | None = None) -> None:
        self._registry, self._prefix = registry, prefix
        self._agent = () if agent is None else (agent,)

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return self._made(Gauge, name, text, labels)

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        return self._made(Counter, name, text, labels)

    def histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return self._made(partial(Histogram, buckets=buckets), name, text, labels)

    def _made(self, make: Callable[..., M], name: str, text: str, labels: tuple[str, ...]) -> M:
        full, names = f"edgefw_{self._prefix}_{name}", (*("agent" for _ in self._agent), *labels)
        metric = make(full, text, names, registry=self._registry)
        return metric.labels(*self._agent) if names and not labels else metric


class _Before(Collector):
    """Does something whenever a registry is asked, before the metrics that were registered after it."""

    def __init__(self, do: Callable[[], None]) -> None:
        self._do = do

    def collect(self) -> Iterable[Metric]:
        """Return no metrics."""
        self._do()
        return ()


class AgentMetrics:
    """What an agent exports about itself; every series has the label `agent`."""

    def __init__(self, registry: CollectorRegistry, agent: int) -> None:
        self._agent = str(agent)
        self._series: dict[tuple[int, int, tuple[str, ...]], Any] = {}  # by metric, neighbour, other labels
        self._traffic: dict[tuple[int, str], list[int]] = {}  # frames and bytes that are not yet counted
        self._waits: dict[int, list[float]] = {}  # likewise: waits in every bucket, and their sum
        registry.register(_Before(self._count_traffic))
        registry.register(_Before(self._count_waits))
        make = _Names(registry, "agent", self._agent)
        self.round = make.gauge("round", "The round of the last play.")
        self.round_duration = make.histogram(
            "round_duration_seconds", "From the start of a sweep to its play.", _ROUND_BUCKETS
        )
        self.local_loss = make.gauge("local_loss", "The last play's loss on the agent's own batch.")
        self.global_loss = make.gauge("global_loss", "The last scored play's loss on all agents' batches.")
        self.cumulative_loss = make.gauge("cumulative_loss", "Global losses of all scored plays, added up.")
        self.regret = make.gauge(
            "regret",
            "The regret so far is at least this: losses less those of the whole horizon's best point.",
        )
        self.regret.set(math.nan)  # not 0: it is not known yet
        self.outstanding = make.gauge(
            "feedback_outstanding", "Feedback submitted that has not come, and is not known to be dropped."
        )
        self.reports_waiting = make.gauge(
            "reports_waiting", "Plays that the observer has not yet recorded, as far as the agent was told."
        )
        self.report_waits = make.counter(
            "report_waits_total", "How often rounds had to wait because no more plays could be kept for it."
        )
        self.delay_rounds = make.gauge(
            "feedback_delay_rounds",
            "Delay of the feedback that was received last, in rounds, the longest of a sweep's; 1 is none.",
        )
        self.oldest_age = make.gauge(
            "oldest_feedback_age_rounds",
            "Delay so far of the oldest feedback that is still missing, in rounds; 0 if none is.",
        )
        self.dropped = make.counter(
            "feedback_dropped_total", "Feedback that will never come: a fault drops it."
        )
        self._unusable = make.counter(
            "feedback_rejected_total", "Feedback that came and could not be used.", "reason"
        )
        self.delay_seconds = make.histogram(
            "feedback_delay_seconds", "From submission to receipt, on the agent's clock.", _DELAY_BUCKETS
        )
        self.observed_delay = make.gauge(
            "feedback_observed_delay_seconds", "From submission to receipt of the last received feedback."
        )
        self.requested_delay = make.gauge(
            "feedback_requested_delay",
            "What the broker was to add to the last received feedback (its clock's unit).",
        )
        self.total_delay = make.gauge("total_delay_rounds", "B_i so far: delays of all feedback, in rounds.")
        self.checkpoint_duration = make.histogram(
            "checkpoint_duration_seconds", "Writing a checkpoint, until it is on disk.", _FSYNC_BUCKETS
        )
        self.checkpoints_degraded = make.gauge(
            "checkpoints_degraded",
            "1 while the disk (full, or read-only) does not take checkpoints, and the agent waits; else 0.",
        )
        self._wait = make.histogram(
            "exchange_wait_seconds", "Waiting for a neighbour's frame.", _WAIT_BUCKETS, "peer"
        )
        self._waiting = make.gauge(
            "waiting_seconds", "How long the agent has now waited for this neighbour.", "peer"
        )
        self._up = make.gauge("peer_up", "Whether the stream to this neighbour stands.", "peer")
        self._connects = make.counter(
            "peer_connects_total",
            "How often the stream to a neighbour was set up; more than once: it was lost.",
            "peer",
        )
        self._frames = make.counter(
            "peer_frames_total", "Frames exchanged with a neighbour.", "peer", "direction"
        )
        self._bytes = make.counter(
            "peer_bytes_total", "Bytes exchanged with a neighbour.", "peer", "direction"
        )
        self._rejected = make.counter(
            "peer_rejected_total", "Streams ended because of what a peer sent.", "peer", "reason"
        )

    def wait(self, peer: int, seconds: float) -> None:
        """Count a wait that is over: here, and in its metric when somebody looks, as frames are."""
        uncounted = self._waits.get(peer)
        if uncounted is None:
            uncounted = self._waits[peer] = [0.0] * (len(_WAIT_BUCKETS) + 2)
        uncounted[bisect_left(_WAIT_BUCKETS, seconds)] += 1
        uncounted[-1] += seconds

    def waiting(self, peer: int, seconds: float) -> None:
        """Show a wait that goes on (0: it is over)."""
        self._of(self._waiting, peer).set(seconds)

    def peer_up(self, peer: int, *, up: bool) -> None:
        """Show whether the stream to a neighbour stands."""
        self._of(self._up, peer).set(int(up))
        self._of(self._connects, peer).inc(int(up))

    def frame(self, peer: int, direction: str, size: int) -> None:
        """Count a frame `sent` or `received`: here, and in its metrics when somebody looks.

        Counters have locks: four a frame take as long as it takes to encode it.
        """
        uncounted = self._traffic.get((peer, direction))
        if uncounted is None:
            uncounted = self._traffic[peer, direction] = [0, 0]
        uncounted[0] += 1
        uncounted[1] += size

    def _count_traffic(self) -> None:
        for (peer, direction), uncounted in list(self._traffic.items()):
            frames, size = uncounted
            self._of(self._frames, peer, direction).inc(frames)
            self._of(self._bytes, peer, direction).inc(size)
            uncounted[0] -= frames
            uncounted[1] -= size

    def _count_waits(self) -> None:
        for peer, uncounted in self._waits.items():
            series: Any = self._of(self._wait, peer)  # whose own way to count is one wait at a time
            for bucket, waits in zip(series._buckets, uncounted[:-1], strict=True):  # noqa: SLF001
                bucket.inc(waits)
            series._sum.inc(uncounted[-1])  # noqa: SLF001
            uncounted[:] = [0.0] * len(uncounted)

    def _of(self, metric: M, peer: int, *labels: str) -> M:
        """Return a series by its neighbour; one that was found before is not looked for again."""
        key = id(metric), peer, labels
        series: M | None = self._series.get(key)
        if series is None:
            series = self._series[key] = metric.labels(self._agent, str(peer), *labels)
        return series

    def rejected(self, peer: str, reason: str) -> None:
        """Count a stream that was ended because of what came over it."""
        self._rejected.labels(self._agent, peer, reason).inc()

    def unusable(self, reason: str) -> None:
        """Count a feedback that came and could not be used."""
        self._unusable.labels(self._agent, reason).inc()


class BrokerMetrics:
    """What the broker exports; every series of a link has the label `agent`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        make = _Names(registry, "broker")
        self.depth = make.gauge("queue_depth", "Feedback held, by state.", "agent", "state")
        self.oldest_age = make.gauge(
            "oldest_feedback_age_seconds", "Age of the oldest pending feedback.", "agent"
        )
        self.requested = make.gauge("requested_delay_seconds", "Last delay drawn for a link.", "agent")
        self.requested_rounds = make.gauge("requested_delay_rounds", "Last delay drawn, in rounds.", "agent")
        self.lateness = make.histogram("lateness_seconds", "Release after the due time.", _LATENESS_BUCKETS)
        self.fsync = make.histogram(
            "journal_fsync_seconds", "Commit of a group of feedbacks to the journal.", _FSYNC_BUCKETS
        )
        self.accepted = make.counter("accepted_total", "Feedback taken over.", "agent")
        self.delivered = make.counter("delivered_total", "Feedback acknowledged by its agent.", "agent")
        self.redelivered = make.counter("redelivered_total", "Feedback sent again.", "agent")
        self.dropped = make.counter(
            "dropped_total", "Feedback taken over that will never be delivered.", "agent"
        )
        self.rejected = make.counter("rejected_total", "Requests refused.", "agent", "reason")
        self.limit = make.gauge(
            "queue_limit", "How much feedback may be pending, on a link and in all.", "scope"
        )
        self.held_bytes = make.gauge("held_bytes", "Feedback in memory, until its agent has it.")
        self.held_limit = make.gauge(
            "held_limit_bytes",
            "How much feedback may be in memory: as the scenario says, or what memory there is for.",
        )
        self._plan_changes = make.counter("plan_changes_total", "Changes of the delay plan.")
        self._plan_changed = make.gauge(
            "plan_changed_timestamp_seconds",
            "When the delay plan was last changed in this way, since 1970; only the latest ways are here.",
            *Change._fields,
        )
        self._ways: dict[Change, None] = {}  # the latest last

    def plan_changed(self, change: Change, at: float) -> None:
        """Count a change of the delay plan, and show what and when (in seconds since 1970) it was."""
        self._plan_changes.inc()
        self._plan_changed.labels(*change).set(at)
        self._ways.pop(change, None)
        self._ways[change] = None
        if len(self._ways) > _WAYS:
            oldest = next(iter(self._ways))
            del self._ways[oldest]
            self._plan_changed.remove(*oldest)


class ObserverMetrics:
    """What the observer exports about the whole network."""

    def __init__(self, registry: CollectorRegistry) -> None:
        make = _Names(registry, "network")
        self.regret = make.gauge(
            "regret",
            "An agent's largest regret so far is at least this; at most this plus the gap, if all rounds "
            "that were compared are played.",
        )
        self.loss = make.gauge("loss", "max_i F_t(x_t^i) of the last scored round.")
        self.total_loss = make.gauge(
            "total_loss",
            "Sum of the network losses so far: a sum of maxima, so less the best fixed point's loss it is "
            "nobody's regret.",
        )
        self.consensus = make.gauge("consensus_distance", "Largest distance of a play from their mean.")
        self.gap = make.gauge(
            "comparator_gap",
            "How far the fixed point that regret is measured against may be from the best one.",
        )
        self.compared = make.gauge(
            "comparator_rounds",
            "The rounds for which that fixed point was sought: the horizon, at the end the rounds played.",
        )
        self.comparator_failures = make.counter(
            "comparator_failures_total",
            "How often the search for the best fixed point has failed; the run goes on without it.",
        )
        self.pace_asked = make.gauge(
            "pace_asked_seconds",
            "How long a round is to take, as the scenario says; 0 is as fast as it goes.",
        )
        self.pace_reached = make.gauge(
            "pace_reached_seconds",
            "How long the last rounds took on average; longer than asked for: the machine is too slow.",
        )
        self.round = make.gauge("round", "The last round scored for all agents.")
        self.agent_awaited = make.gauge(
            "agent_awaited_seconds",
            "How long the run has waited for this agent: it is away, or has not reported what others have.",
            "agent",
        )
        self.broker_awaited = make.gauge(
            "broker_awaited_seconds", "How long the broker has been away; up to a second or two is nothing."
        )
        self.silence = make.gauge(
            "silence_seconds",
            "How long no agent has reported, beyond the length of a round; 0 when the run is over.",
        )
        self.degraded = make.gauge(
            "record_degraded",
            "1 while the disk does not take the record of the run: it is full, or read-only; else 0.",
        )
        self.outside = make.counter("infeasible_plays_total", "Plays outside the feasible set.")
        self.rejected = make.counter(
            "reports_rejected_total",
            "Streams of reports that were ended because of what came over them.",
            "reason",
        )
