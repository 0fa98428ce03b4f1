"""Changes of a delay plan: pure functions from a plan to a plan.

Each returns the plan it was given where nothing changes, else one with the next version. An error leaves no
trace: plans are never altered.

A fault that says `at` is counted from the run's start, as in a scenario; any other from when it is posted.
"""

from __future__ import annotations

import dataclasses
import operator
import zlib
from typing import TYPE_CHECKING, Any

from edgefw.delays.body import Posted, fault_body, read_fault, read_patch
from edgefw.delays.entry import PlanEntry, same_fault
from edgefw.delays.plan import MOST_FAULTS
from edgefw.errors import ExistsError, InputError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from edgefw.delays.entry import Key, Moment
    from edgefw.delays.fault import Fault, Rules
    from edgefw.delays.plan import Plan


def add(plan: Plan, moment: Moment, agent: int | None, fault: Fault, name: str | None) -> Plan:
    """Append a fault to the plan. Without a name it is called by its type, or type-2 and so on."""
    check_agent(plan, agent)
    taken = {(entry.agent, entry.name) for entry in plan.entries}
    if name is None:
        name = free_name(taken, (agent,), fault.type)
    if (agent, name) in taken:
        raise ExistsError(f"{_place(agent)} has a fault {name!r} already: change it, or choose another name")
    if len(plan.entries) >= MOST_FAULTS:
        raise ExistsError(f"the plan has {MOST_FAULTS} faults, and may not have more: remove some first")
    return _changed(plan, (*plan.entries, _posted(plan.rules, moment, (agent, name), fault)))


def change(plan: Plan, moment: Moment, agent: int | None, name: str, patch: Any) -> Plan:
    """Merge a patch (RFC 7396) into a fault's body.

    If the patch has a duration, it counts from now, even if it is the same as before; if not, the old one
    goes on. A ramp whose duration is given starts over. Draws stay the same unless the seed changes.
    """
    old = find(plan, agent, name)
    patch = read_patch(patch)
    fault = read_fault(merged(fault_body(old), patch), plan.rules).fault
    anew = fault.at is None and (old.fault.at is not None or patch.get("duration") is not None)
    if same_fault(old, fault) and not anew:
        return plan
    new = _posted(plan.rules, moment, old.key, fault, old)
    if fault.at is None and not anew:
        new = dataclasses.replace(new, since=old.since, since_rounds=old.since_rounds)
    return _changed(plan, tuple(new if entry is old else entry for entry in plan.entries))


def remove(plan: Plan, agent: int | None, name: str) -> Plan:
    """Remove a fault."""
    gone = find(plan, agent, name)
    return _changed(plan, tuple(entry for entry in plan.entries if entry is not gone))


def replace(
    plan: Plan, moment: Moment, faults: Sequence[Posted], disabled: Collection[int] | None = None
) -> Plan:
    """Replace all faults by these. A fault that is in the plan already, unchanged, goes on untouched.

    `disabled` are the links to be disabled. None leaves them as they are.
    """
    there = {entry.key: entry for entry in plan.entries}
    entries: dict[Key, PlanEntry] = {}
    for posted, name in zip(faults, _names(faults), strict=True):
        for agent in posted.agents or (None,):
            key = (agent, name)
            entry = there.get(key)
            if entry is None or not same_fault(entry, posted.fault):
                entry = _posted(plan.rules, moment, key, posted.fault, entry)
            entries[key] = entry
    if len(entries) > MOST_FAULTS:
        raise InputError(
            f"faults are {len(entries)}, counted by agent: at most {MOST_FAULTS} are allowed", "faults"
        )
    return _changed(plan, tuple(entries.values()), disabled)


def reset(plan: Plan) -> Plan:
    """Remove every fault. A disabled link is no fault: it stays disabled until it is enabled again."""
    return _changed(plan, ())


def enable(plan: Plan, agent: int, *, enabled: bool) -> Plan:
    """Enable or disable a link."""
    check_agent(plan, agent)
    return _changed(plan, plan.entries, plan.disabled - {agent} if enabled else plan.disabled | {agent})


def without(plan: Plan, entries: Iterable[PlanEntry]) -> Plan:
    """Remove these entries, except for those that have been changed meanwhile."""
    gone = {entry.key: entry for entry in entries}
    return _changed(plan, tuple(entry for entry in plan.entries if gone.get(entry.key) != entry))


def find(plan: Plan, agent: int | None, name: str) -> PlanEntry:
    """Return the fault of that name on a link, or on all of them (None)."""
    check_agent(plan, agent)
    for entry in plan.entries:
        if entry.key == (agent, name):
            return entry
    raise UnknownError(f"{_place(agent)} has no fault {name!r}")


def check_agent(plan: Plan, agent: int | None) -> None:
    """Refuse an agent that is not there."""
    if agent is not None and not 0 <= agent < plan.rules.agents:
        raise UnknownError(f"there is no agent {agent}: agents are 0 to {plan.rules.agents - 1}")


def free_name(taken: Collection[Key], agents: Iterable[int | None], type_: str) -> str:
    """Return the first of type, type-2, ... that is free on all of these links."""
    whose, name, number = tuple(agents), type_, 1
    while any((agent, name) in taken for agent in whose):
        number += 1
        name = f"{type_}-{number}"
    return name


def merged(target: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target with the patch merged into it, by RFC 7396: null removes.

    >>> merged({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 4}})
    {'b': {'c': 4, 'd': 3}}
    """
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            old = result.get(name)
            result[name] = merged(old if isinstance(old, dict) else {}, value)
        else:
            result[name] = value
    return result


def _posted(rules: Rules, moment: Moment, key: Key, fault: Fault, old: PlanEntry | None = None) -> PlanEntry:
    """Return the entry of a fault that is posted at a moment: it counts from then, unless it says `at`.

    Its random numbers derive from its seed or, without a seed, from its name. One that replaces an `old`
    entry with the same seed keeps that entry's numbers.
    """
    seed = getattr(fault, "seed", None)
    if old is not None and getattr(old.fault, "seed", None) == seed:
        salt = old.salt
    else:
        salt = 2 * (2**53 + zlib.crc32(key[1].encode())) + 1 if seed is None else 2 * seed
    if fault.at is not None:
        return PlanEntry(*key, fault, salt)
    if rules.clock == "wall":
        return PlanEntry(*key, fault, salt, since=moment.now)
    return PlanEntry(*key, fault, salt, since_rounds=moment.rounds)


def _changed(plan: Plan, entries: tuple[PlanEntry, ...], disabled: Collection[int] | None = None) -> Plan:
    links = plan.disabled if disabled is None else frozenset(disabled)
    same = len(entries) == len(plan.entries) and all(map(operator.is_, entries, plan.entries))
    if same and links == plan.disabled:
        return plan
    return dataclasses.replace(plan, version=plan.version + 1, entries=entries, disabled=links)


def _names(faults: Sequence[Posted]) -> list[str]:
    """Return a name for each fault. Names that are given must differ on a link."""
    taken: set[Key] = set()
    for position, posted in enumerate(faults):
        keys = {(agent, posted.name) for agent in posted.agents or (None,) if posted.name is not None}
        if keys & taken:
            field = f"faults.{position}.name"
            raise InputError(f"{field} is {posted.name!r}, as that of another fault on the same link", field)
        taken |= keys
    names = []
    for posted in faults:
        whose = posted.agents or (None,)
        name = posted.name or free_name(taken, whose, posted.fault.type)
        taken |= {(agent, name) for agent in whose}
        names.append(name)
    return names


def _place(agent: int | None) -> str:
    return "the plan for all links" if agent is None else f"the link of agent {agent}"
