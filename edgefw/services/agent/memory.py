"""What an agent remembers when it comes back after a kill: its way to its checkpoints, which never blocks it.

Without a folder it remembers nothing, and nothing is written: a run that wants no disk, and an algorithm that
cannot be saved.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgefw.errors import EdgefwError
from edgefw.services.agent.checkpoints import CheckpointFolder, Found
from edgefw.services.agent.sealed import Sealed, seal
from edgefw.services.agent.snapshot import as_bytes
from edgefw.services.clock import loop_time
from edgefw.transport.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from edgefw.services.machine import Machine, Worker

log = logging.getLogger(__name__)


class GoBackError(EdgefwError):
    """A neighbour needs frames from before the checkpoint that this agent began with."""


class Memory:
    """The checkpoints of one agent, and the worker that writes them."""

    def __init__(self, folder: Path | None, machine: Machine) -> None:
        self._files = None if folder is None else CheckpointFolder(folder)
        self._worker: Worker | None = None if folder is None else machine.worker("checkpoints")
        self._found: Found | None = None
        self._every = 0  # rounds between two checkpoints; 0: there are none
        self._behind: asyncio.Future[None] | None = None  # fails where it has to go back
        self._saving: asyncio.Task[None] | None = None
        self.saved: Callable[[float], None] = lambda _seconds: None  # is told what a checkpoint took
        self.degraded: Callable[[bool], None] = lambda _refused: None  # is told whether the disk refuses

    async def recall(self) -> str | None:
        """Look what is there; return the run that can be gone on with, None if there is none."""
        await self._saved()
        self._found = await self._insist(lambda files: files.find())
        return None if self._found is None else self._found.run_id

    async def begin(self, run_id: str, every: int, *, savable: bool) -> None:
        """Be in a run: go on with it if it is the one that is remembered, else begin with nothing."""
        self._every = every if savable and self._files is not None else 0
        if self._found is not None and self._found.run_id == run_id:
            log.info(
                "going on after round %d, with %d sweeps on record", self.round, len(self._found.records)
            )
            return
        self._found = None
        if self._every:
            await self._insist(lambda files: files.begin(run_id, every))
            self._found = Found(run_id)
        elif self._files is not None:
            log.warning("this algorithm has no save and load: an agent of it that dies ends the run")

    async def go_back(self) -> None:
        """Begin with the older checkpoint."""
        await self._saved()
        begun = self.round
        await self._insist(lambda files: files.go_back(begun))
        if await self.recall() is None:
            raise EdgefwError("there is no older checkpoint to go back to: start the run again")

    @property
    def round(self) -> int:
        """The round after which the agent goes on; 0 at the beginning."""
        return 0 if self._found is None else self._found.round

    @property
    def checkpoint(self) -> Sealed | None:
        """The agent as it was after that round; None at the beginning."""
        return None if self._found is None else self._found.checkpoint

    @property
    def back(self) -> int:
        """By how many sweeps a neighbour may go back: it has two checkpoints, and may be a sweep behind."""
        return 2 * self._every + 1 if self._every else 0

    def recorded(self, t: int) -> Sealed | None:
        """Return what sweep t began with in an earlier life of this agent; None if it has not begun."""
        return None if self._found is None else self._found.records.get(t)

    def behind(self, t: int) -> None:
        """Take note that a neighbour begins with round t: where this agent can do so, it has to go back."""
        older = None if self._found is None else self._found.older
        if (
            older is not None
            and older < t <= self.round
            and self._behind is not None
            and not self._behind.done()
        ):
            self._behind.set_exception(GoBackError(f"a neighbour begins with round {t}: going back"))

    async def until_behind(self) -> None:
        """Wait for ever; a GoBackError if a neighbour makes it necessary."""
        self._behind = asyncio.get_running_loop().create_future()
        await self._behind

    async def keep_arrivals(self, t: int, payloads: Mapping[int, bytes], dropped: Sequence[int]) -> None:
        """Return when what sweep t begins with is on disk, and every checkpoint before it.

        `payloads` is the feedback that has arrived, by round; `dropped`, that of which none will come.
        """
        if not self._every:
            return
        arrays = {str(s): as_bytes(payload) for s, payload in payloads.items()}
        record = seal({"sweep": t, "dropped": list(dropped)}, arrays)
        await self._saved()
        await self._insist(lambda files: files.append(t, record))

    def is_due(self, t: int) -> bool:
        """Whether there is to be a checkpoint after round t."""
        return self._every > 0 and t % self._every == 0

    def keep(self, t: int, words: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the agent as it is after round t. It is written while others are waited for."""
        if self._found is not None:
            self._found = replace(self._found, older=None)  # this one takes its place
        checkpoint = seal(words, arrays)
        self._saving = asyncio.create_task(self._keep(t, checkpoint), name="checkpoint")

    async def _keep(self, t: int, checkpoint: bytes) -> None:
        begin = loop_time()
        await self._insist(lambda files: files.keep(t, checkpoint))
        self.saved(loop_time() - begin)

    async def close(self) -> None:
        """Write what is to be written, and let go of the files."""
        if self._worker is not None:
            if self._saving is not None:
                self._saving.cancel()
            await self._do(lambda files: files.close())
            self._worker.close()

    async def _saved(self) -> None:
        """Return when no checkpoint is being written."""
        saving, self._saving = self._saving, None
        if saving is not None:
            await saving

    async def _insist(self, work: Callable[[CheckpointFolder], Any]) -> Any:
        """Return what some work comes to, once the disk takes it: else no agent comes back as it was."""
        pauses, said = Backoff(), ""
        while True:
            try:
                result = await self._do(work)
            except OSError as error:
                if str(error) != said:
                    log.error("cannot keep checkpoints, and wait until I can: %s", error)  # noqa: TRY400 - one line
                said = str(error)
                self.degraded(True)
                await pauses.pause()
            else:
                if said:
                    log.info("the disk takes checkpoints again")
                    self.degraded(False)
                return result

    async def _do(self, work: Callable[[CheckpointFolder], Any]) -> Any:
        if self._files is None or self._worker is None:
            return None
        return await self._worker.do(work, self._files)


def payloads_of(record: Sealed) -> dict[int, bytes]:
    """Return the feedback that a sweep on record began with, by round."""
    return {int(s): array.tobytes() for s, array in record.arrays.items()}
