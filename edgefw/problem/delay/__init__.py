"""Delayed feedback: the faults of a link, the plan they make, its table of delays, the arrival sets."""

from __future__ import annotations

from edgefw.problem.delay.adversary import STRATEGIES, Adversary
from edgefw.problem.delay.book import ArrivalBook, most_total_delay, total_delay, unused
from edgefw.problem.delay.distribution import DISTRIBUTIONS, Amount
from edgefw.problem.delay.draws import Stream
from edgefw.problem.delay.faults import Blackout, Drop, Fault, Latency, Ramp, Rounds
from edgefw.problem.delay.plan import DelayPlan, delayed_agents
from edgefw.problem.delay.units import LONGEST, NEVER

__all__ = [
    "DISTRIBUTIONS",
    "LONGEST",
    "NEVER",
    "STRATEGIES",
    "Adversary",
    "Amount",
    "ArrivalBook",
    "Blackout",
    "DelayPlan",
    "Drop",
    "Fault",
    "Latency",
    "Ramp",
    "Rounds",
    "Stream",
    "delayed_agents",
    "most_total_delay",
    "total_delay",
    "unused",
]
