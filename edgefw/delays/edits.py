"""Changes of a delay plan: pure functions from a plan to a plan.

Each returns the plan it was given where nothing changes, else one with the next version. An error (see
`refusals`) leaves no trace: plans are never altered.

A fault that says `at` is counted from the run's start, as in a scenario; any other from when
it is posted.
"""

from __future__ import annotations

import dataclasses
import operator
import zlib
from typing import TYPE_CHECKING, Any

from edgefw.delays.body import Posted, fault_body, read_fault, read_patch
from edgefw.delays.entry import Entry, same_fault
from edgefw.delays.plan import MOST_FAULTS
from edgefw.delays.refusals import ExistsError, UnknownError
from edgefw.delays.strict import check_name
from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from edgefw.delays.entry import Key
    from edgefw.delays.fault import Fault
    from edgefw.delays.plan import Moment, Plan


def add(plan: Plan, moment: Moment, agent: int | None, fault: Fault, name: str | None) -> Plan:
    """Add a fault that was read at the end; without a name it gets its type's, or type-2 and so on."""
    check_agent(plan, agent)
    taken = {entry.key for entry in plan.entries}
    name = free_name(taken, (agent,), fault.type) if name is None else _checked_name(name)
    if (agent, name) in taken:
        raise ExistsError(f"{_place(agent)} has a fault {name!r} already: change it, or choose another name")
    if len(plan.entries) >= MOST_FAULTS:
        raise ExistsError(f"the plan has {MOST_FAULTS} faults, and may not have more: remove some first")
    return _changed(plan, (*plan.entries, _posted(plan, moment, (agent, name), fault, salt=None)))


def change(plan: Plan, moment: Moment, agent: int | None, name: str, patch: Any) -> Plan:
    """Merge a patch (RFC 7396) into a fault's body.

    A duration that the patch gives counts from now, be it the same; one that it does not touch goes on. A
    ramp whose duration is given starts over. Draws stay the same unless the seed changes.
    """
    old = find(plan, agent, name)
    patch = read_patch(patch)
    fault = read_fault(merged(fault_body(old), patch), plan.rules).fault
    anew = fault.at is None and (old.fault.at is not None or patch.get("duration") is not None)
    if same_fault(old, fault) and not anew:
        return plan
    new = _posted(plan, moment, old.key, fault, salt=_kept_salt(old, fault))
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
    """Put these faults in place of all; one that is in force as it stands here is left alone.

    `disabled` are the links to be disabled, None leaves them as they are.
    """
    there = {entry.key: entry for entry in plan.entries}
    entries: dict[Key, Entry] = {}
    for posted, name in zip(faults, _names(faults), strict=True):
        for agent in posted.agents or (None,):
            key = (agent, name)
            entries[key] = _replaced(plan, moment, key, posted.fault, there.get(key))
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


def without(plan: Plan, entries: Iterable[Entry]) -> Plan:
    """Remove those of the entries that are still there as they were."""
    gone = {entry.key: entry for entry in entries}
    return _changed(plan, tuple(entry for entry in plan.entries if gone.get(entry.key) != entry))


def find(plan: Plan, agent: int | None, name: str) -> Entry:
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
    whose, number = tuple(agents), 1
    while any((agent, _numbered(type_, number)) in taken for agent in whose):
        number += 1
    return _numbered(type_, number)


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


def _changed(plan: Plan, entries: tuple[Entry, ...], disabled: Collection[int] | None = None) -> Plan:
    links = plan.disabled if disabled is None else frozenset(disabled)
    same = len(entries) == len(plan.entries) and all(map(operator.is_, entries, plan.entries))
    if same and links == plan.disabled:
        return plan
    return dataclasses.replace(plan, version=plan.version + 1, entries=entries, disabled=links)


def _posted(plan: Plan, moment: Moment, key: Key, fault: Fault, salt: int | None) -> Entry:
    """Return a new entry, counted from now (or from the run's start, if it says when it begins)."""
    agent, name = key
    salt = _salt(fault, name) if salt is None else salt
    if fault.at is not None:
        return Entry(agent, name, fault, salt)
    if plan.rules.clock == "wall":
        return Entry(agent, name, fault, salt, since=moment.now)
    return Entry(agent, name, fault, salt, since_rounds=moment.rounds)


def _replaced(plan: Plan, moment: Moment, key: Key, fault: Fault, old: Entry | None) -> Entry:
    if old is None:
        return _posted(plan, moment, key, fault, salt=None)
    if same_fault(old, fault):
        return old
    return _posted(plan, moment, key, fault, salt=_kept_salt(old, fault))


def _salt(fault: Fault, name: str) -> int:
    """Return what tells the fault's draws from others': a seed of its own, else its name."""
    seed = getattr(fault, "seed", None)
    return 2 * (2**53 + zlib.crc32(name.encode())) + 1 if seed is None else 2 * seed


def _kept_salt(old: Entry, fault: Fault) -> int | None:
    """Return the salt that a fault keeps through a change, None where its seed has changed."""
    return old.salt if getattr(old.fault, "seed", None) == getattr(fault, "seed", None) else None


def _names(faults: Sequence[Posted]) -> list[str]:
    """Return a name for each; those that are given must differ on a link."""
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


def _checked_name(name: str) -> str:
    try:
        return check_name(name, "fault")
    except ValueError as error:
        raise InputError(f"name: {error}", "name") from None


def _place(agent: int | None) -> str:
    return "the plan for all links" if agent is None else f"the link of agent {agent}"


def _numbered(type_: str, number: int) -> str:
    return type_ if number == 1 else f"{type_}-{number}"
