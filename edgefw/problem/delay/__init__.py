"""Delayed feedback: the faults of a link, the plan they make, its table of delays, the arrival sets."""

from __future__ import annotations

from edgefw.errors import unknown
from edgefw.problem.delay.adversary import STRATEGIES, Adversary
from edgefw.problem.delay.book import ArrivalBook, arrivals, pending, total_delay
from edgefw.problem.delay.distribution import DISTRIBUTIONS, Amount
from edgefw.problem.delay.draws import Stream
from edgefw.problem.delay.faults import Blackout, Drop, Fault, Latency, Ramp, Rounds
from edgefw.problem.delay.plan import DelayPlan, delayed_agents
from edgefw.problem.delay.units import LONGEST, NEVER

FAULT_TYPES: dict[str, type[Fault]] = {
    fault.type: fault for fault in (Latency, Rounds, Blackout, Ramp, Drop, Adversary)
}


def fault_type(name: str) -> type[Fault]:
    """Return the class of a fault's `type` as a scenario writes it.

    >>> fault_type("blackout").__name__
    'Blackout'
    """
    if name not in FAULT_TYPES:
        raise unknown("fault type", name, FAULT_TYPES)
    return FAULT_TYPES[name]


__all__ = [
    "DISTRIBUTIONS",
    "FAULT_TYPES",
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
    "arrivals",
    "delayed_agents",
    "fault_type",
    "pending",
    "total_delay",
]
