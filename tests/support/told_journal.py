"""A journal in memory that does as it is told: commits now or later, has no room, fails, crashes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from edgefw.errors import JournalError, JournalFullError
from edgefw.services.broker.journal import Accepted, Journal, Restored, Row, State
from edgefw.services.broker.timeline import timeline_now
from edgefw.services.machine import Clocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Change = tuple["Callable[[], None]", "asyncio.Future[None] | None"]


class ToldJournal(Journal):
    """What is kept waits for `commit`, which comes by itself where `prompt`; notes wait for it, too.

    `full` lets every commit fail that would keep something. `crashed` is what the next broker finds.
    """

    def __init__(self, known: Restored | None = None, clocks: Clocks | None = None) -> None:
        self.restored = None if known is None else replace(known, rows=list(known.rows))
        self.timeline = timeline_now(clocks or Clocks())
        self.failed = asyncio.get_running_loop().create_future()
        self.prompt, self.full = True, False
        self._disk = Restored() if known is None else replace(known)
        self._rows = {(row.agent, row.round): row for row in self._disk.rows}
        self._waiting: list[Change] = []

    def keep(self, record: Accepted) -> asyncio.Future[None]:
        return self._keep(lambda: self._write(record))

    def keep_plan(self, version: int, text: str) -> asyncio.Future[None]:
        return self._keep(lambda: self._disk.plans.update({version: text}))

    def note_start(self, start: int) -> None:
        self._note(lambda: setattr(self._disk, "start", start))

    def note(self, agent: int, rounds: Sequence[int], state: State) -> None:
        self._note(lambda: self._mark(agent, rounds, state))

    def note_collected(self, agent: int, t: int) -> None:
        self._note(lambda: self._disk.collected.update({agent: t}))

    async def close(self) -> None:
        self.commit()

    def commit(self) -> None:
        """Put on disk what waits, in its order; where there is no room, the notes alone."""
        waiting, self._waiting = self._waiting, []
        for change, future in waiting:
            if future is not None and self.full:
                future.set_exception(JournalFullError("the journal has no room: make some"))
                continue
            change()
            if future is not None and not future.done():
                future.set_result(None)

    def fail(self) -> None:
        """Be unable to keep anything from now on."""
        error = JournalError("the journal cannot be written: look after the disk")
        self.failed.set_exception(error)
        for _, future in self._waiting:
            if future is not None:
                future.set_exception(error)
        self._waiting = []

    def crashed(self) -> Restored:
        """Return what is on disk; what waits is lost."""
        return replace(self._disk, plans=dict(self._disk.plans), rows=self.rows())

    def rows(self) -> list[Row]:
        return [self._rows[key] for key in sorted(self._rows)]

    def _keep(self, change: Callable[[], None]) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((change, future))
        if self.prompt:
            self.commit()
        return future

    def _note(self, change: Callable[[], None]) -> None:
        self._waiting.append((change, None))

    def _write(self, record: Accepted) -> None:
        agent, round_, payload, norm, rank, accepted, version, dropped = record
        state = State.DROPPED if dropped else State.PENDING
        self._rows[agent, round_] = Row(
            agent, round_, accepted, version, norm, rank, state, None if dropped else payload
        )

    def _mark(self, agent: int, rounds: Sequence[int], state: State) -> None:
        for s in rounds:
            row = self._rows.get((agent, s))
            if row is not None and row.state < state:
                payload = None if state >= State.DONE else row.payload
                self._rows[agent, s] = row._replace(state=state, payload=payload)
