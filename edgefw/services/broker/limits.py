"""How much a broker may hold: what its scenario says, or less where memory is short."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from edgefw.delays.limits import Limits
from edgefw.services.broker.memory import available

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

log = logging.getLogger(__name__)

_MEGABYTE = 1_000_000
_PROGRAM = 160 * _MEGABYTE  # the broker itself, and what is on its way from the network to the disk
_SHARE = 2  # of the rest, one half is for feedback: memory that is taken and given back has gaps


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
