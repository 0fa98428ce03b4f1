"""The delay plan by the wall clock: when feedback that was submitted at some moment is due.

Theory of operation. The draws are those of `DelayPlan`, per (seed, agent, round), but nothing is counted in
rounds. Feedback of round s, submitted at a moment of the clock that the caller reads:

1. is due when it was submitted plus the seconds of every latency and ramp in force;
2. is held, if it is due inside a blackout, to the blackout's end, until no blackout holds it;
3. never comes if a drop in force meets it, or a blackout without end.

A fault is in force for some rounds (the window that it has) or for a span of time since the run's start (the
span beside it). A blackout is about releases: the length of a round turns its window in rounds into a span.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import InputError
from edgefw.problem.delay.adversary import Adversary
from edgefw.problem.delay.faults import Blackout, Drop, Fault, Latency, Ramp, Rounds
from edgefw.problem.delay.units import LONGEST

if TYPE_CHECKING:
    from edgefw.problem.delay.draws import Stream
    from edgefw.problem.delay.plan import DelayPlan

Span = tuple[float, float]
"""Seconds since the start of the run, [start, stop); stop may be infinite."""

ALWAYS: Span = (0.0, math.inf)


@dataclass(frozen=True)
class _OnLink:
    """A fault on one agent's link, with the numbers it draws there and when it is in force."""

    fault: Fault
    stream: Stream
    span: Span

    def acts(self, s: int, age: float) -> bool:
        """Whether it acts on the feedback of round s that was submitted `age` seconds into the run."""
        return self.span[0] <= age < self.span[1] and bool(self.fault.meets(self.stream, _only(s))[0])


@dataclass(frozen=True)
class WallPlan:
    """The faults of `plan`, each with its span of time or None; `round_seconds` is None if it is not fixed.

    >>> from edgefw.problem.delay import DelayPlan
    >>> plan = DelayPlan((Latency(0.5), Blackout(window=(1, None))), agents=1, seed=0)
    >>> wall = WallPlan(plan, spans=(None, (60.0, 70.0)))
    >>> wall.due(0, 1, 1003.0, start=1000.0), wall.due(0, 2, 1062.0, start=1000.0)
    (1003.5, 1070.0)
    """

    plan: DelayPlan
    spans: tuple[Span | None, ...]
    round_seconds: float | None = None

    def __post_init__(self) -> None:
        if len(self.spans) != len(self.plan.faults):
            raise InputError(f"{len(self.spans)} spans of time for {len(self.plan.faults)} faults")
        for fault, span in zip(self.plan.faults, self.spans, strict=True):
            _check_unit(fault)
            if span is None and self.round_seconds is None:
                _check_untimed(fault)

    def due(self, agent: int, s: int, submitted: float, start: float) -> float | None:
        """Return when the feedback of round s is due, or None if it never comes; `start` is the run's."""
        age = submitted - start
        acting = [each for each in self._links[agent] if each.acts(s, age)]
        if any(isinstance(each.fault, Drop) for each in acting):
            return None
        seconds = sum(self._seconds(each, s, age) for each in acting)
        due = _held(self._links[agent], s, submitted + min(seconds, LONGEST), start)
        return None if math.isinf(due) else due

    @cached_property
    def _links(self) -> tuple[tuple[_OnLink, ...], ...]:
        return tuple(self._link(agent) for agent in range(self.plan.agents))

    def _link(self, agent: int) -> tuple[_OnLink, ...]:
        return tuple(
            _OnLink(fault, self.plan.stream(position, agent), self._span(position))
            for position, fault in enumerate(self.plan.faults)
            if fault.concerns(agent)
        )

    def _span(self, position: int) -> Span:
        fault, span = self.plan.faults[position], self.spans[position]
        if span is not None:
            return span
        if not isinstance(fault, Blackout) or fault.window is None or self.round_seconds is None:
            return ALWAYS  # a window in rounds, if there is one, is the fault's own to ask
        first, last = fault.window
        stop = math.inf if last is None else (last - 1) * self.round_seconds
        return (first - 1) * self.round_seconds, stop

    def _seconds(self, each: _OnLink, s: int, age: float) -> float:
        """Return what a fault in force adds."""
        if isinstance(each.fault, Latency):
            return float(each.fault.amount.values(each.stream, _only(s))[0])
        if isinstance(each.fault, Ramp):
            return float(each.fault.level(np.array([self._elapsed(each.fault, each.span, s, age)]))[0])
        return 0.0

    def _elapsed(self, ramp: Ramp, span: Span, s: int, age: float) -> float:
        """Return the seconds since the ramp's beginning: real ones, unless it begins with a round."""
        if ramp.window is not None and self.round_seconds is not None:
            return float(ramp.elapsed(_only(s))[0]) * self.round_seconds
        return age - span[0]


def _held(link: tuple[_OnLink, ...], s: int, due: float, start: float) -> float:
    """Return the due time, moved out of every blackout that holds this feedback."""
    blackouts = [
        (start + each.span[0], start + each.span[1])
        for each in link
        if isinstance(each.fault, Blackout) and each.fault.meets(each.stream, _only(s))[0]
    ]
    while True:
        # Ends: a release is past its blackout for good, so each of them moves it once at most.
        end = max((stop for begin, stop in blackouts if begin <= due < stop), default=due)
        if end == due:
            return due
        due = end


def _only(s: int) -> range:
    return range(s, s + 1)


def _check_unit(fault: Fault) -> None:
    if isinstance(fault, Adversary):
        raise InputError(
            "an adversary counts in rounds: under the wall clock there is none yet; "
            "set clock=rounds, or remove it"
        )
    if isinstance(fault, Rounds) or (isinstance(fault, Ramp) and fault.unit == "rounds"):
        raise InputError(
            f"a {fault.type} counted in rounds needs clock rounds: under the wall clock give it in seconds"
        )


def _check_untimed(fault: Fault) -> None:
    """Refuse a window in rounds that only the length of a round could turn into time."""
    whole = fault.window is None or fault.window == (1, None)
    if isinstance(fault, Blackout | Ramp) and not whole:
        raise InputError(
            f"a {fault.type} that begins or ends with a round needs rounds of a known length: "
            "set `pace` (pace: 250ms), or give `at` and `duration` as times (at: 60s)"
        )
