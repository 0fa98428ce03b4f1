"""How much a broker may hold, and whether a run can go on within it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from edgefw.errors import InputError
from edgefw.services.broker.memory import available

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario
    from edgefw.services.broker.plan import Plan


log = logging.getLogger(__name__)

_MEGABYTE = 1_000_000
_PROGRAM = 160 * _MEGABYTE  # the broker itself, and what is on its way from the network to the disk
_SHARE = 2  # of the rest, one half is for feedback: memory that is taken and given back has gaps


class Limits(NamedTuple):
    """How much may be held: pending feedback on a link and in all; bytes in all, also of what is released."""

    link: int
    all: int
    bytes: int


def limits_of(scenario: Scenario, memory: int | None = None) -> Limits:
    """Return the scenario's limits, lowered to what this machine or container has room for."""
    limits = scenario.limits
    room = _room(available() if memory is None else memory)
    if room < limits.megabytes:
        log.warning(
            "limits.megabytes is %d, and there is memory for %d: agents wait when that is full; "
            "give the broker more memory to hold more",
            limits.megabytes,
            room,
        )
    return Limits(limits.link, limits.all, min(limits.megabytes, room) * _MEGABYTE)


def _room(memory: int) -> int:
    """Return the megabytes of feedback that fit into so many bytes of memory.

    >>> _room(2 * 2**30), _room(256 * 2**20), _room(2**20)
    (993, 54, 1)
    """
    return max((memory - _PROGRAM) // _SHARE // _MEGABYTE, 1)


def check_limits(plan: Plan, limits: Limits) -> None:
    """Refuse a plan that would fill the broker for good.

    Under the rounds clock what is pending comes only if its agent goes on, so there must be room for all that
    it submits until then. By the wall clock it comes in any case, and a full broker only makes agents wait;
    but what is held until the end waits for the last round.
    """
    if plan.rules.clock == "wall":
        _check_until_end(plan, limits)
        return
    longest = plan.longest()
    needed = plan.rules.rounds if longest is None else min(longest + 1, plan.rules.rounds)
    for name, most, least in (("link", limits.link, needed), ("all", limits.all, needed * plan.rules.agents)):
        if most < least:
            raise InputError(
                f"limits.{name} is {most}, and delays reach {needed - 1} rounds: "
                f"at least {least} are needed, or nobody could go on"
            )


def _check_until_end(plan: Plan, limits: Limits) -> None:
    rounds, n = plan.rules.rounds, plan.rules.agents
    held = [entry for entry in plan.entries if getattr(entry.fault, "strategy", None) == "until_end"]
    links = n if any(entry.agent is None for entry in held) else len({entry.agent for entry in held})
    for name, most, least in (("link", limits.link, rounds), ("all", limits.all, rounds * links)):
        if links and most < least:
            raise InputError(
                f"limits.{name} is {most}, and {held[0].name} holds {rounds} rounds until the end: "
                f"at least {least} are needed, or nobody could go on"
            )
