"""What a journal is told, and what it tells after a restart."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

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
