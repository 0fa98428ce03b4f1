"""What services find around them on virtual time: no threads, no processes, and one clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.services.machine import Clocks, InlineMachine

if TYPE_CHECKING:
    from edgefw.virtual.loop import VirtualLoop

SINCE = 946_684_800 * 10**9  # nanoseconds from 1970 to 2000: when the clock of every virtual machine was zero
BOOT = "virtual"


def virtual_machine(loop: VirtualLoop) -> InlineMachine:
    """Return a machine whose time of day and monotonic clock are the loop's: the same in every run."""
    return InlineMachine(Clocks(loop.time_ns, lambda: SINCE + loop.time_ns(), lambda: BOOT))
