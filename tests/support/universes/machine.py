"""What services find around them: no threads, a disk of ours, and a real-time clock that somebody may set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.services.machine import Clocks, InlineMachine
from edgefw.virtual.machine import SINCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.services.machine import Helper, Make, Worker
    from edgefw.virtual.loop import VirtualLoop
    from universes.disk import Disk
    from universes.memory import MemoryWorker
    from universes.record import RecordWorker


class RealTime:
    """The time of day, which can be set, and the boot that it is told in."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop, self._set, self._boots = loop, 0, 1

    def step(self, nanoseconds: int) -> None:
        """Set the clock."""
        self._set += nanoseconds

    def reboot(self) -> None:
        """Begin another boot of the machine."""
        self._boots += 1

    def clocks(self) -> Clocks:
        """Return the clocks of the machine."""
        loop = self._loop
        return Clocks(loop.time_ns, lambda: SINCE + self._set + loop.time_ns(), lambda: str(self._boots))


@dataclass(frozen=True)
class UniverseMachine(InlineMachine):
    """The workers are the disks'; there are no helpers: nobody asks here for a best fixed point."""

    disk: Disk | None = None
    recorder: RecordWorker | None = None
    memory: MemoryWorker | None = None

    def worker(self, name: str) -> Worker:
        if self.disk is not None and name == "journal":
            return self.disk.worker()
        if self.memory is not None and name == "checkpoints":
            return self.memory
        return self.recorder if self.recorder is not None and name == "recorder" else super().worker(name)

    async def helper(self, command: Sequence[str], make: Make, longest: int) -> Helper:
        del command, make, longest
        raise OSError("there are no helpers in this universe")
