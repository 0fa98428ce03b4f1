"""A delay plan and its changes in words: for the record, for a page, for whoever reads them later."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from edgefw.delays.body import fault_body
from edgefw.delays.oneline import in_a_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from edgefw.delays.entry import PlanEntry
    from edgefw.delays.plan import Moment, Plan

MOST_NAMED = 6
LONGEST = 200  # characters that are said of one thing


class Said(NamedTuple):
    """What is said, and of whom (None: of all agents)."""

    text: str
    agents: tuple[int, ...] | None


def agents_in_words(agents: Iterable[int]) -> str:
    """Return some agents as one would say them.

    >>> agents_in_words([3]), agents_in_words([3, 1]), agents_in_words(range(30))
    ('agent 3', 'agents 1, 3', 'agents 0, 1, 2, 3, 4, 5 and 24 more')
    """
    listed = sorted(agents)
    named = ", ".join(map(str, listed[:MOST_NAMED]))
    more = len(listed) - MOST_NAMED
    return f"agent{'' if len(listed) == 1 else 's'} {named}{f' and {more} more' if more > 0 else ''}"


def changes_in_words(before: Plan, after: Plan, now: Moment, start: float | None) -> Iterator[Said]:
    """Yield what is different in a plan that comes into force now, in a run that began at `start`."""
    old, new = _by_fault(before), _by_fault(after)
    over = {(entry.name, entry.text) for entry in before.over(now, start)}
    for key in (key for key in old if key not in new):
        yield fault_in_words(*old[key], "is over" if key[:2] in over else "is removed")
    for key in (key for key in new if key not in old):
        yield fault_in_words(*new[key], "is set")
    for agents, what in (
        (after.disabled - before.disabled, "cut off: all feedback is held"),
        (before.disabled - after.disabled, "no longer cut off"),
    ):
        if agents:
            yield Said(f"{agents_in_words(agents)}: {what}", tuple(sorted(agents)))


def fault_in_words(entry: PlanEntry, agents: Sequence[int] | None, what: str) -> Said:
    """Return a sentence on a fault and its agents (None: all); `what` is, say, "is set" or "is over"."""
    whom = "all agents" if agents is None else agents_in_words(agents)
    text = cut(f"{whom}: {in_a_line(fault_body(entry, 1))} {what}")
    return Said(text, None if agents is None else tuple(agents))


def cut(text: str, longest: int = LONGEST) -> str:
    """Return a text, its end left out where it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _by_fault(plan: Plan) -> dict[tuple[str, str, int | None], tuple[PlanEntry, list[int] | None]]:
    """Return the faults of a plan by name, text and first agent. A fault on several links is one."""
    return {
        (entry.name, entry.text, agents[0] if agents else None): (entry, agents)
        for entry, agents in plan.shared()
    }
