"""Looks for planted bugs: how many universes it takes to meet each, and how few events it needs."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from universes.draw import universe
from universes.planted import BUGS, planted
from universes.running import run
from universes.shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Callable

    from universes.running import Outcome

FIRST = 1000  # the first seed that is tried: not one of the tests'
MOST = 2000  # universes that are tried


class Found(NamedTuple):
    """A bug that was met: after how many universes, in what it was shrunk to, and what was wrong there."""

    bug: str
    universes: int
    seconds: float  # of this process
    outcome: Outcome


def find(bug: str) -> Found | None:
    """Run universes until one shows the bug, and is as it should be without it; shrink that."""
    begin = time.process_time()
    for count in range(1, MOST + 1):
        outcome = run(universe(FIRST + count - 1), partial(planted, bug))
        if outcome.failed and not run(outcome.universe).failed:
            seconds = time.process_time() - begin
            return Found(bug, count, seconds, shrink(outcome, lambda each: run(each, partial(planted, bug))))
    return None


def table(say: Callable[[str], object]) -> int:
    """Look for every bug; say how each was found. Return 1 where one was not."""
    say("| bug | universes | seconds | events | replay | what was wrong |\n|---|---|---|---|---|---|")
    missing = 0
    for bug in BUGS:
        found = find(bug)
        missing += found is None
        say(f"| {bug} | not found |" if found is None else _line(found))
    return 1 if missing else 0


def _line(found: Found) -> str:
    drawn = found.outcome.universe
    events = ",".join(str(event.number) for event in drawn.events) or "none"
    without = ",".join(sorted(drawn.without))
    return (
        f"| {found.bug} | {found.universes} | {found.seconds:.1f} | {len(drawn.events)} | "
        f"{drawn.seed}: {events}; without {without} | {found.outcome.violations[0]} |"
    )
