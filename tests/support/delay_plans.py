"""Faults, rules and plans of a delay engine, in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from edgefw.delays.draws import Draws
from edgefw.delays.entry import PlanEntry
from edgefw.delays.fault import Fault, Rules
from edgefw.delays.link_id import feedback_links
from edgefw.delays.on_link import ALWAYS, OnLink
from edgefw.delays.plan import Plan
from edgefw.delays.registry import AnyFault

if TYPE_CHECKING:
    from edgefw.delays.fault import Window
    from edgefw.delays.on_link import Span

READ: TypeAdapter[AnyFault] = TypeAdapter(AnyFault)
STREAM = Draws(3, (1,), 1)


def fault(type_: str, **fields: Any) -> Fault:
    """Return a fault as a user writes it."""
    return READ.validate_python({"type": type_, **fields})


def rules(
    clock: str = "rounds", *, agents: int = 1, rounds: int = 12, seed: int = 0, pace: float | None = None
) -> Rules:
    """Return the rules of a small run; one with a `pace` counts time."""
    return Rules("wall" if pace else clock, feedback_links(agents), rounds, seed, pace)


def plan_of(given: Rules, *faults: Fault, salts: tuple[int, ...] | None = None) -> Plan:
    """Return the plan of these faults, each on the links that it names; apart in draws unless `salts` say."""
    entries = [
        PlanEntry(agent, f"fault-{place}", each, 2 * place + 1 if salts is None else salts[place])
        for place, each in enumerate(faults)
        for agent in (each.agents if isinstance(each.agents, list) else (None,))
    ]
    return Plan(given, 1, tuple(entries))


def on(
    given: Rules, each: Fault, span: Span = ALWAYS, *, window: Window | None = None, salt: int = 1
) -> OnLink:
    """Return a fault as it is on a link."""
    return OnLink(each, Draws(5, (0,), salt), given, span, window)
