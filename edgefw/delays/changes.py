"""What a change of a delay plan changed: in a few words for a chart, in sentences for the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.delays.change import Change
from edgefw.delays.words import Said, agents_in_words, fault_in_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from edgefw.delays.entry import Moment, PlanEntry
    from edgefw.delays.plan import Plan


def difference(kind: str, before: Plan, after: Plan) -> Change:
    """Return what was changed; `kind` is what was asked for."""
    old, new = ({id(entry): entry for entry in plan.entries} for plan in (before, after))
    switched = before.disabled ^ after.disabled
    agents, types = {str(agent) for agent in switched}, {"link"} if switched else set()
    for key in old.keys() ^ new.keys():
        entry = old.get(key) or new[key]
        agents.add("all" if entry.agent is None else str(entry.agent))
        types.add(entry.fault.type)
    what = "disable" if kind == "enable" and switched & after.disabled else kind
    return Change(what, _one(types), _one(agents))


def changes_in_words(before: Plan, after: Plan, now: Moment, start: float | None) -> Iterator[Said]:
    """Yield what is different in a plan that comes into force now, in a run that began at `start`."""
    old, new = _by_fault(before), _by_fault(after)
    if gone := [key for key in old if key not in new]:
        over = {(entry.name, entry.text) for entry in before.over(now, start)}
        for key in gone:
            yield fault_in_words(*old[key], "is over" if key[:2] in over else "is removed")
    for key in [key for key in new if key not in old]:
        yield fault_in_words(*new[key], "is set")
    for agents, what in (
        (after.disabled - before.disabled, "cut off: all feedback is held"),
        (before.disabled - after.disabled, "no longer cut off"),
    ):
        if agents:
            yield Said(f"{agents_in_words(agents)}: {what}", tuple(sorted(agents)))


def _one(words: Collection[str]) -> str:
    """Return the only word, or that there are several."""
    return next(iter(words)) if len(words) == 1 else "several"


def _by_fault(plan: Plan) -> dict[tuple[str, str, int | None], tuple[PlanEntry, list[int] | None]]:
    """Return the faults of a plan by name, text and first agent. A fault on several links is one."""
    return {
        (entry.name, entry.text, agents[0] if agents else None): (entry, agents)
        for entry, agents in plan.shared
    }
