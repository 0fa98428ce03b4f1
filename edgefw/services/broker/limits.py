"""How much a broker may hold: what its scenario says, or less where memory is short."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from edgefw.delays.limits import MEGABYTE, Capacity
from edgefw.scenario.plan import declared_limits
from edgefw.services.broker.memory import available

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

log = logging.getLogger(__name__)

_PROGRAM = 160 * MEGABYTE  # the broker itself, and what is on its way from the network to the disk
_SHARE = 2  # of the rest, one half is for feedback: memory that is taken and given back has gaps


def limits_of(scenario: Scenario, memory: int | None = None) -> Capacity:
    """Return the scenario's limits, lowered to what this machine or container has room for."""
    declared = declared_limits(scenario)
    room = _room(available() if memory is None else memory)
    if room * MEGABYTE < declared.bytes:
        log.warning(
            "limits.megabytes is %d, and there is memory for %d: agents wait when that is full; "
            "give the broker more memory to hold more",
            declared.bytes // MEGABYTE,
            room,
        )
    return declared._replace(bytes=min(declared.bytes, room * MEGABYTE))


def _room(memory: int) -> int:
    """Return the megabytes of feedback that fit into so many bytes of memory.

    >>> _room(2 * 2**30), _room(256 * 2**20), _room(2**20)
    (993, 54, 1)
    """
    return max((memory - _PROGRAM) // _SHARE // MEGABYTE, 1)
