"""From a universe that fails to the smallest part of it that still does: few events, then a simpler world.

Events are removed in pieces: halves, quarters, and so on, each kept out if it fails all the same (delta
debugging). Then whole parts of the world go: its schedule, its latencies, its slow commits, its delays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from universes.draw import PARTS
from universes.running import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from universes.draw import Universe
    from universes.running import Outcome

    Try = Callable[[Universe], Outcome]


def shrink(failed: Outcome, attempt: Try = run) -> Outcome:
    """Return the failure of the smallest part that was found."""
    best = _fewer_events(failed, attempt)
    for part in PARTS:
        outcome = attempt(best.universe.less({*best.universe.without, part}))
        best = outcome if outcome.failed else best
    return _fewer_events(best, attempt)


def _fewer_events(best: Outcome, attempt: Try) -> Outcome:
    best = _try(best, set(best.happened), attempt)  # what never happened had no part in it
    size = len(best.universe.events)
    while size:
        numbers = [event.number for event in best.universe.events]
        for first in range(0, len(numbers), size):
            best = _try(best, set(numbers[:first] + numbers[first + size :]), attempt)
            if len(best.universe.events) < len(numbers):
                break
        else:
            size //= 2
        size = min(size, len(best.universe.events))
    return best


def _try(best: Outcome, numbers: set[int], attempt: Try) -> Outcome:
    if len(numbers) >= len(best.universe.events):
        return best
    outcome = attempt(best.universe.only(numbers))
    return outcome if outcome.failed else best
