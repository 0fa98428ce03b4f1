"""When feedback is due by the wall clock, worked out one feedback at a time: for comparing a broker with.

It knows nothing of the broker's plan. Faults are what an admin writes, times are whole seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A fault in the plan: `since` is when it was posted, None if it counts from the run's start."""

    agent: int | None
    name: str
    body: dict[str, Any]
    since: float | None

    @property
    def pending(self) -> bool:
        default = "pending" if self.body["type"] == "blackout" else "new"
        return bool(self.body.get("apply_to", default) == "pending")

    def seconds(self, name: str) -> float:
        return float(self.body[name].removesuffix("s"))

    def span(self, start: float | None) -> tuple[float, float]:
        zero = start if self.since is None else self.since
        if zero is None:
            return math.inf, math.inf
        begin = zero + (self.seconds("at") if "at" in self.body else 0.0)
        return begin, begin + self.seconds("duration") if "duration" in self.body else math.inf

    def in_force(self, moment: float, start: float | None) -> bool:
        begin, end = self.span(start)
        return begin <= moment < end


@dataclass(frozen=True)
class Faults:
    """A version of the plan."""

    entries: tuple[Entry, ...] = ()
    disabled: frozenset[int] = frozenset()

    def on_link(self, agent: int, *, pending: bool) -> list[Entry]:
        there = [e for e in self.entries if e.agent in {None, agent} and e.pending == pending]
        if pending and agent in self.disabled:
            there.append(Entry(agent, "disabled", {"type": "blackout"}, since=-math.inf))
        return there

    def find(self, agent: int | None, name: str) -> Entry | None:
        return next((e for e in self.entries if (e.agent, e.name) == (agent, name)), None)

    def without(self, gone: list[Entry]) -> Faults:
        return replace(self, entries=tuple(e for e in self.entries if e not in gone))

    def over(self, now: float, start: float | None) -> list[Entry]:
        return [e for e in self.entries if "duration" in e.body and e.span(start)[1] <= now]


@dataclass
class Feedback:
    """A feedback that was accepted under some faults."""

    agent: int
    round: int
    accepted: float
    faults: Faults
    state: str = "pending"  # pending, open (released), done, dropped
    sent: bool = False  # before a restart: it was due then, whatever the faults have become

    @property
    def key(self) -> tuple[int, int]:
        return self.agent, self.round


@dataclass
class Now:
    """What is in force: the faults, the time, the run's start, the agents whose last round has come."""

    faults: Faults
    time: float
    start: float | None
    ended: set[int]


def _acting(feedback: Feedback, now: Now) -> list[Entry]:
    """Return the faults, blackouts aside, that act on a pending feedback."""
    own = [
        e
        for e in feedback.faults.on_link(feedback.agent, pending=False)
        if e.in_force(feedback.accepted, now.start)
    ]
    later = [e for e in now.faults.on_link(feedback.agent, pending=True) if e.in_force(now.time, now.start)]
    return [e for e in own + later if e.body["type"] != "blackout"]


def dropped(feedback: Feedback, now: Now) -> bool:
    return not feedback.sent and _is_taken(_acting(feedback, now))


def _is_taken(acting: list[Entry]) -> bool:
    return any(e.body["type"] == "drop" for e in acting)


def due(feedback: Feedback, now: Now) -> float:
    """Return when a pending feedback is due, as things stand now."""
    faults = _acting(feedback, now)
    moment = feedback.accepted + sum(_added(e, feedback, now) for e in faults)
    moment = _past_outages(moment, feedback, now)
    for e in faults:
        if e.body["type"] == "adversary" and moment < math.inf:
            moment = _chosen(e, moment, feedback, now)
    moment = _past_outages(moment, feedback, now)
    if feedback.sent:  # a drop that acts on it now came too late
        return min(math.inf if _is_taken(faults) else moment, now.time)
    return moment


def _added(entry: Entry, feedback: Feedback, now: Now) -> float:
    body = entry.body
    if body["type"] == "latency" and "trace" in body:
        return float(body["trace"][(feedback.round - 1) % len(body["trace"])].removesuffix("s"))
    if body["type"] == "latency":
        return entry.seconds("latency")
    if body["type"] == "ramp":
        elapsed = max(0.0, feedback.accepted - entry.span(now.start)[0])
        level, last = entry.seconds("start"), entry.seconds("stop")
        for _ in range(int(elapsed // entry.seconds("interval"))):
            step = entry.seconds("step")
            level = min(level + step, last) if level < last else max(level - step, last)
        return level
    return 0.0


def _chosen(entry: Entry, moment: float, feedback: Feedback, now: Now) -> float:
    if entry.body["strategy"] == "until_end":
        return moment if feedback.agent in now.ended else math.inf
    assert now.start is not None
    end, period = now.start, entry.seconds("period")
    while end < moment:
        end += period
    return end


def _past_outages(moment: float, feedback: Feedback, now: Now) -> float:
    """Move a moment out of every blackout; while one is in force nothing pending comes before its end."""
    spans = [e.span(now.start) for e in _blackouts(feedback.faults.on_link(feedback.agent, pending=False))]
    for e in _blackouts(now.faults.on_link(feedback.agent, pending=True)):
        begin, end = e.span(now.start)
        spans.append((-math.inf if e.in_force(now.time, now.start) else begin, end))
    moved = True
    while moved:
        moved = False
        for begin, end in spans:
            if begin <= moment < end:
                moment, moved = end, True
    return moment


def _blackouts(entries: list[Entry]) -> list[Entry]:
    return [e for e in entries if e.body["type"] == "blackout"]
