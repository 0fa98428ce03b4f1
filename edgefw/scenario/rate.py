"""The oracle rate zeta of a run, and why: given, or derived from what the scenario declares beforehand.

An algorithm cannot know the future, so no rate looks at a delay that was drawn, or at what will be dropped.
The delay d that a rate reckons with is `algorithm.delay_bound`. Where that is left out, a lone learner and
the theorems' schedule take what the faults on a link declare, added up: each type says what that is
(`Fault.declared`), a base plus its jitter, say, and nothing where it is not known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core import schedule
from edgefw.delays.book import most_total_delay
from edgefw.delays.entry import window_of
from edgefw.scenario.plan import delay_plan, place, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.scenario.model import Scenario


@dataclass(frozen=True)
class Rate:
    """A rate, and what it comes from in one line."""

    value: float
    reason: str


def rate_of(scenario: Scenario, lipschitz: Callable[[], float]) -> Rate:
    """Return the rate of a scenario; `lipschitz` returns G, which only the theorems' schedule asks for."""
    algorithm, T = scenario.algorithm, scenario.algorithm.horizon
    if algorithm.rate is not None:
        return Rate(algorithm.rate, "given as algorithm.rate")
    if algorithm.schedule == "theorem":
        return _theorem(scenario, lipschitz())
    if not algorithm.centralized and algorithm.delay_bound is None:
        reason = f"1/sqrt(T), T = {T}: the published rate of a network, which reckons with no delay"
        return Rate(schedule.experiment_rate(T), reason)
    d = max(_bounds(scenario))
    return Rate(schedule.experiment_rate(T, d), f"1/sqrt(d T), T = {T}, d = {d} ({_source(scenario)})")


def _theorem(scenario: Scenario, G: float) -> Rate:
    T, bounds = scenario.algorithm.horizon, _bounds(scenario)
    B = float(np.mean([most_total_delay(d, T) for d in bounds]))
    least, most = min(bounds), max(bounds)
    d = f"{most}" if least == most else f"{least} to {most}"
    reason = f"1/(G sqrt(B)), G = {G:.4g}, B = {B:.6g} at most for T = {T} and d = {d} ({_source(scenario)})"
    return Rate(schedule.theorem_rate(G=G, B=B), reason)


def _bounds(scenario: Scenario) -> list[int]:
    """Return the delay that is reckoned with, link by link: at most the horizon: what is later is lost."""
    algorithm, agents = scenario.algorithm, range(scenario.network.agents)
    if algorithm.delay_bound is not None:
        return [min(algorithm.delay_bound, algorithm.horizon)] * len(agents)
    plan = delay_plan(scenario)
    return [min(plan.declared(agent), algorithm.horizon) for agent in agents]


def _source(scenario: Scenario) -> str:
    """Say where the delay comes from, and which faults declare none."""
    if scenario.algorithm.delay_bound is not None:
        return "algorithm.delay_bound"
    said: dict[bool, list[str]] = {True: [], False: []}
    rules = rules_of(scenario)
    for position, fault in enumerate(scenario.faults):
        counts = fault.declared(rules, window_of(fault, rules.round_seconds)) > 0
        said[counts].append(f"{place(scenario, position)}, {fault.type}")
    words = [f"declared by {'; '.join(said[True])}"] if said[True] else []
    words += [f"not counted: {'; '.join(said[False])}"] if said[False] else []
    return "; ".join(words) or "nothing is delayed"
