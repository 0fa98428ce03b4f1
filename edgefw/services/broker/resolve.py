"""When an entry of the plan is in force, and the fault that it is on a link.

Under the rounds clock it has a window in rounds. By the wall clock it has a span of time; but one of the
scenario that begins with a round (`at: 200`) has a window: it is in force for the feedback of those rounds.
Where time and rounds are mixed, the beginning decides and the pace turns the duration into its unit.

What was posted counts from then. What was not counts from the run's start.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgefw.errors import InputError
from edgefw.problem import delay
from edgefw.scenario.faults import Adversary, Blackout, Ramp
from edgefw.scenario.plan import made, window_of

if TYPE_CHECKING:
    from edgefw.problem.delay.faults import Window
    from edgefw.problem.delay.link import Span
    from edgefw.scenario.faults import AnyFault
    from edgefw.services.broker.entry import Entry, Rules

NOT_YET: Span = (math.inf, math.inf)
"""The span of what counts from the run's start before there is one."""

_HELD = {"burst": 1, "largest": 1, "newest_first": 2, "starve": 0}
"""How many periods, less a round each, an adversary holds feedback back."""


def counts_rounds(entry: Entry, rules: Rules) -> bool:
    """Whether an entry is in force for some rounds, not for a span of time."""
    if rules.clock == "rounds":
        return True
    in_time = entry.since is not None or isinstance(entry.fault, Blackout)
    return not in_time and isinstance(_first(entry.fault), int)


def window(entry: Entry, rules: Rules, agent: int) -> Window | None:
    """Return the rounds of an agent's feedback for which an entry is in force, None if it has no window."""
    if not counts_rounds(entry, rules):
        return None
    base = 0 if entry.since_rounds is None else entry.since_rounds[agent]
    found = window_of(entry.fault, rules.round_seconds, base)
    return (base + 1, None) if found is None and base else found


def span(entry: Entry, rules: Rules, start: float | None) -> Span:
    """Return the moments of the clock between which an entry is in force; `start` is the run's."""
    fault, zero = entry.fault, start if entry.since is None else entry.since
    if zero is None:
        return NOT_YET
    if counts_rounds(entry, rules):
        return zero, math.inf
    if entry.since is None and isinstance(_first(fault), int):
        return _outage(fault, rules, zero)
    begin = zero + (0.0 if fault.at is None else seconds("at", fault.at, rules))
    return begin, math.inf if fault.duration is None else begin + seconds("duration", fault.duration, rules)


def stop(entry: Entry, rules: Rules, agent: int) -> float:
    """Return the first round for which an entry that counts rounds is not in force any more."""
    _, last = window(entry, rules, agent) or (1, None)
    return math.inf if last is None else last


def fault_on(entry: Entry, rules: Rules, agent: int) -> delay.Fault:
    """Return the fault that an entry is on an agent's link."""
    fault, found = entry.fault, window(entry, rules, agent)
    wall = rules.clock == "wall"
    if isinstance(fault, Ramp) and wall and found not in {None, (1, None)}:
        seconds(_name_of_first(fault), _first(fault) or 0, rules)  # it climbs with time
    period = fault.period if isinstance(fault, Adversary) else None
    if isinstance(fault, Adversary) and period is not None and wall and fault.strategy != "starve":
        period = seconds("period", period, rules)
    return made(fault, found, unit="seconds" if wall else "rounds", period=period)


def seconds(name: str, amount: float, rules: Rules) -> float:
    """Return an amount in seconds: it is one already, unless it is a number of rounds (an int)."""
    if not isinstance(amount, int):
        return amount
    if rules.round_seconds is None:
        raise InputError(
            f"`{name}` is {amount} rounds, and rounds have no fixed length: "
            f"set `pace` (pace: 250ms), or give a time ({name}: 10s)"
        )
    return amount * rules.round_seconds


def most_added(entry: Entry, rules: Rules) -> int | None:
    """Return how many rounds an entry can add to a delay, None if there is no bound (rounds clock)."""
    fault = fault_on(entry, rules, entry.agent or 0)
    match fault:
        case delay.Rounds():
            most = fault.amount.most()
            return None if most is None else most - 1
        case delay.Ramp():
            return math.floor(max(fault.start, fault.stop) + 0.5) - 1
        case delay.Blackout():
            first, last = fault.window or (1, None)
            return rules.rounds if last is None else last - first
        case delay.Adversary():
            return rules.rounds if fault.period is None else _HELD[fault.strategy] * (int(fault.period) - 1)
        case _:
            return 0


def _first(fault: AnyFault) -> float | None:
    """Return what decides in which unit a fault begins and ends."""
    return fault.duration if fault.at is None else fault.at


def _name_of_first(fault: AnyFault) -> str:
    return "duration" if fault.at is None else "at"


def _outage(fault: AnyFault, rules: Rules, zero: float) -> Span:
    """Return the span of a blackout in rounds: it is about releases; round t begins after t - 1 rounds."""
    seconds(_name_of_first(fault), _first(fault) or 0, rules)
    length = rules.round_seconds or 0.0
    begin, end = window_of(fault, length) or (1, None)
    return zero + (begin - 1) * length, math.inf if end is None else zero + (end - 1) * length
