"""What a journal is told, and what it tells after a restart."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from edgefw.services.broker.timeline import Timeline

_GIBIBYTE = 2**30


class State(IntEnum):
    """What has become of a feedback; it only ever goes up."""

    PENDING = 0
    SENT = 1
    DONE = 2
    DROPPED = 3


class Accepted(NamedTuple):
    """A feedback that was taken over; `accepted` is in real nanoseconds, `version` that of the plan."""

    agent: int
    round: int
    payload: bytes
    norm: float
    rank: float
    accepted: int
    version: int
    dropped: bool


class Row(NamedTuple):
    """A feedback as the journal knows it; it has a payload while it is pending or sent."""

    agent: int
    round: int
    accepted: int
    version: int
    norm: float
    rank: float
    state: State
    payload: bytes | None


@dataclass
class Restored:
    """What a broker before this one knew."""

    start: int | None = None  # of the run, in real nanoseconds
    plans: dict[int, str] = field(default_factory=dict)  # by version; the highest is the current one
    floors: dict[int, int] = field(default_factory=dict)  # rounds 1..floor of a link: done, and no rows
    collected: dict[int, int] = field(default_factory=dict)  # the last round that an agent asked for
    rows: list[Row] = field(default_factory=list)  # by agent, then round


@dataclass(frozen=True)
class Tuning:
    """How a journal keeps its size within bounds."""

    limit: int = 8 * _GIBIBYTE  # bytes of the database; its log comes on top, some 10 MB, at most 32
    recent: int = 1024  # rounds of a link whose rows stay, without payload, when they are done
    compact_every: int = 4096  # feedbacks from one compaction to the next


class Journal(Protocol):
    """Keeps what a broker must not forget.

    Calls take effect in their order. A note about a feedback that is not kept is void: who keeps it again,
    after a JournalFullError, begins anew with it.
    """

    restored: Restored | None
    timeline: Timeline
    failed: asyncio.Future[
        None
    ]  # raises a JournalError once nothing can be kept any more; never has a result

    def keep(self, record: Accepted) -> asyncio.Future[None]:
        """Keep a feedback; JournalFullError if there is no room, then nothing of it is kept."""

    def keep_plan(self, version: int, text: str) -> asyncio.Future[None]:
        """Keep a version of the plan; JournalFullError if there is no room.

        Versions only go up, and so do the versions of feedback that is kept: an older plan goes once nothing
        pending was accepted under it.
        """

    def note_start(self, start: int) -> None:
        """Note when the run started. Notes are on disk after 50 ms; what a crash takes is delivered again."""

    def note_sent(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback was handed out."""

    def note_done(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback will not be handed out any more; its payload goes."""

    def note_dropped(self, agent: int, rounds: Sequence[int]) -> None:
        """Note that feedback was taken away after it had been accepted. Its payload goes."""

    def note_collected(self, agent: int, t: int) -> None:
        """Note the last round that an agent asked for."""

    async def close(self) -> None:
        """Commit what is left, let go of the file."""
