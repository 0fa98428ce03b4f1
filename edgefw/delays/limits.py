"""How much a broker may hold, and whether a run can go on within it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from edgefw.errors import InputError

if TYPE_CHECKING:
    from edgefw.delays.plan import Plan


MEGABYTE = 1_000_000


class Capacity(NamedTuple):
    """How much may be held: pending feedback on a link and in all; bytes in all, also of what is released."""

    link: int
    all: int
    bytes: int


def check_limits(plan: Plan, limits: Capacity) -> None:
    """Refuse a plan that would fill the broker for good.

    Under the rounds clock what is pending comes only if its agent goes on, so there must be room for all that
    it submits until then. By the wall clock it comes in any case, and a full broker only makes agents wait;
    but what is held until the end waits for the last round.
    """
    rounds, n = plan.rules.rounds, plan.rules.agents
    if plan.rules.clock == "wall":
        held = [entry for entry in plan.entries if entry.fault.waits_for_end]
        if not held:
            return
        links = n if any(entry.agent is None for entry in held) else len({entry.agent for entry in held})
        needed, why = rounds, f"{held[0].name} holds {rounds} rounds until the end"
    else:
        longest, links = plan.longest(), n
        needed = rounds if longest is None else min(longest + 1, rounds)
        why = f"delays reach {needed - 1} rounds"
    for name, most, least in (("link", limits.link, needed), ("all", limits.all, needed * links)):
        if most < least:
            raise InputError(
                f"limits.{name} is {most}, and {why}: at least {least} are needed, or nobody could go on"
            )
