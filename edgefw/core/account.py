"""The broker's account of a run: what it did with feedback, in order. Plain values.

With it a run can be checked: whoever has the account can say when each feedback was due by the plan, and that
no play used one that had not been released.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What was done; the numbers are those of the wire."""

    BEGUN = 1  # a broker began, or goes on after a restart
    PLAN = 2  # a version of the plan came into force
    ACCEPTED = 3  # feedback was taken over
    WITHDRAWN = 4  # ... and could not be kept: it is as if it had never come
    REDUE = 5  # when a link's pending feedback is due was asked again
    RELEASED = 6  # feedback was due, and released (wall clock)
    ACKNOWLEDGED = 7  # its agent has it (wall clock)
    COLLECTED = 8  # an agent asked for all that arrives in a round (rounds clock)
    DROPPED = 9  # feedback will never be delivered
    LOST = 10  # entries from here on were not kept: the account has a hole


UNANSWERED = 4
"""Submissions of an agent that the broker has not yet taken for good; with more of them, the agent waits."""

BROKER = "broker"
"""Who changes the plan where nobody asked for it: it begins with one, and takes out what is over."""


class Entry(NamedTuple):
    """One thing that the broker did; agent and round are 0 where it is about none.

    The round of a PLAN is the last one of which anybody's feedback had been accepted.

    `moment` is in real nanoseconds on the broker's clock, and tells entries apart: each has a later one than
    the entry before.
    """

    moment: int
    kind: Kind
    agent: int = 0
    round: int = 0
    version: int = 0  # of the plan in force
    # ACCEPTED, RELEASED: nanoseconds, or a round; None while nobody can say. BEGUN: when the run started, if
    # it had (wall clock).
    due: int | None = None
    hash: str | None = None  # ACCEPTED: of the payload; None where a broker that was killed had not told it
    norm: float | None = None  # ACCEPTED
    plan: str | None = None  # PLAN: the whole plan, as JSON
    what: str | None = None  # PLAN: what it changed, in words
    who: str | None = None  # PLAN: who changed it: BROKER, or what a caller says of itself and its address
