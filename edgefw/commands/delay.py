"""`edgefw delay`: the delays of a run that goes on, seen and changed through the broker's admin endpoint."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import quote

from edgefw import terminal
from edgefw.commands.admin_client import Admin, EndpointError, Event
from edgefw.commands.delay_files import read_plan, write_plan
from edgefw.commands.delay_wanted import Wanted, types
from edgefw.delays.body import ATTRIBUTES
from edgefw.delays.registry import TYPES
from edgefw.delays.units import format_duration, parse_duration
from edgefw.errors import InputError

__all__ = ["Place", "Wanted", "clear", "enable", "ls", "plan", "set_delay", "types", "watch"]

Place = tuple[str, str | None]
"""URL and token of an endpoint."""

_TRIES = 3  # of a change that others may come in between of


def ls(place: Place, *, as_json: bool = False) -> None:
    """Print every link and the faults in force on it."""
    with Admin(*place) as admin:
        state = admin.call("GET", "/links")
    if as_json:
        _print_json(state)
        return
    header = ["agent", "state", "pending", "due", "oldest", "delay", "next", "faults"]
    terminal.table(f"links ({state['clock']} clock)", header, [_row(link) for link in state["links"]])


def set_delay(
    place: Place,
    agent: str,
    wanted: Wanted,
    *,
    name: str = "delay",
    as_json: bool = False,
) -> None:
    """Delay an agent's feedback (or all agents'); a fault of that name is replaced."""
    path = _faults_of(agent)
    with Admin(*place) as admin:
        clock = admin.call("GET", "/version")["clock"]
        body = wanted.body(clock) | {"name": name}
        fault = _post_or_patch(admin, path, body)
    if as_json:
        _print_json(fault)
    else:
        terminal.out.print(f"{_whose(fault)}: {_summary(fault)}")


def clear(place: Place, agent: str | None = None, name: str | None = None, *, as_json: bool = False) -> None:
    """Remove every fault; those of an agent's link alone; or one of them."""
    path = None if agent is None else _faults_of(agent)
    with Admin(*place) as admin:
        before = admin.call("GET", "/plan")
        if path is None:
            admin.call("POST", "/reset")
        elif name is not None:
            admin.call("DELETE", f"{path}/{quote(name, safe='')}")
        else:
            _remove_all(admin, agent)
        after = admin.call("GET", "/plan")
    if as_json:
        _print_json(after)
        return
    there, left = _each(before["faults"]), _each(after["faults"])
    removed = sum(fault not in left for fault in there)
    terminal.out.print(f"removed {removed} of {_count(there)}{_hint(after, agent)}")


def plan(place: Place, file: str | None = None, *, as_json: bool = False) -> None:
    """Print the whole plan, or put that of a file in its place."""
    new = None if file is None else read_plan(file)
    with Admin(*place) as admin:
        shown = admin.call("GET", "/plan") if new is None else admin.call("PUT", "/plan", new)
    if as_json:
        _print_json(shown)
    elif new is None:
        print(write_plan(shown), end="")  # noqa: T201 - plain, to be redirected into a file
    else:
        count, version = _count(_each(shown["faults"])), shown["version"]
        terminal.out.print(f"the plan has {count} now (version {version}){_hint(shown, None)}")


def enable(place: Place, agent: str, *, enabled: bool, as_json: bool = False) -> None:
    """Let an agent's feedback through again, or hold all of it until then."""
    path = _faults_of(agent)
    if agent == "all":
        raise InputError("AGENT is all: links are enabled and disabled one by one")
    with Admin(*place) as admin:
        link = admin.call("PATCH", path.removesuffix("/faults"), {"enabled": enabled})
    if as_json:
        _print_json(link)
    else:
        how = "enabled" if enabled else f"disabled: it holds everything until edgefw delay enable {agent}"
        terminal.out.print(f"the link of agent {link['agent']} is {how}")


def watch(place: Place, *, changes: bool = False, as_json: bool = False) -> None:
    """Print changes and releases as they come."""
    with Admin(*place) as admin:
        for event in admin.events("change" if changes else None):
            print(_line(event, as_json=as_json), flush=True)  # noqa: T201 - also for a reader that is a program


def _line(event: Event, *, as_json: bool) -> str:
    if as_json:
        return json.dumps({"event": event.kind, "id": event.number, **event.data})
    data = " ".join(f"{name}={value}" for name, value in event.data.items())
    return f"{time.strftime('%H:%M:%S')} {event.kind:<8}{data}"


def _faults_of(agent: str) -> str:
    """Return the path of the faults of an agent, or of all."""
    if agent == "all":
        return "/faults"
    if not (agent.isascii() and agent.isdecimal()):
        raise InputError(f"AGENT is {agent!r}: write an agent's number, or all")
    return f"/links/{int(agent)}/faults"


def _post_or_patch(admin: Admin, path: str, body: dict[str, Any]) -> Any:
    """Add a fault, or put it in place of the one of that name without a moment in between."""
    for _ in range(_TRIES):
        try:
            return admin.call("POST", path, body)
        except EndpointError as error:
            if error.status != 409:
                raise
            taken = error
        try:
            return admin.call("PATCH", f"{path}/{quote(body['name'], safe='')}", _whole_patch(body))
        except EndpointError as error:
            if error.status != 404:  # it ended meanwhile
                raise
    raise taken


def _whole_patch(body: dict[str, Any]) -> dict[str, Any]:
    """Return a patch after which nothing of the old fault is left."""
    common = dict.fromkeys(("probability", "apply_to", "at", "duration"))
    own = dict.fromkeys(ATTRIBUTES) | body["attributes"]
    return common | {key: value for key, value in body.items() if key != "name"} | {"attributes": own}


def _remove_all(admin: Admin, agent: str | None) -> None:
    """Remove what is on an agent's link alone, or on all links together."""
    whose = "all" if agent == "all" else [int(agent or 0)]
    if agent != "all":
        admin.call("GET", f"/links/{whose[0]}")  # says so if there is no such agent
    for attempt in range(_TRIES):
        plan = admin.call("GET", "/plan")
        kept = _without(plan["faults"], whose)
        try:
            admin.call("PUT", "/plan", {"version": plan["version"], "faults": kept})
        except EndpointError as error:
            if error.status != 409 or attempt == _TRIES - 1:
                raise
        else:
            return


def _without(faults: list[dict[str, Any]], whose: str | list[int]) -> list[dict[str, Any]]:
    """Return the faults but for those that are on all links together, or on an agent's alone.

    >>> _without([{"agents": "all"}, {"agents": [1, 3]}, {"agents": [3]}], [3])
    [{'agents': 'all'}, {'agents': [1]}]
    """
    kept = []
    for fault in faults:
        agents = fault["agents"]
        left = agents if "all" in (agents, whose) else [agent for agent in agents if agent not in whose]
        if left != whose and left:
            kept.append({**fault, "agents": left})
    return kept


def _each(faults: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return faults of one agent each, or of all: one that several agents have comes several times."""
    return [
        {**fault, "agents": agent}
        for fault in faults
        for agent in (("all",) if fault["agents"] == "all" else fault["agents"])
    ]


def _hint(plan: dict[str, Any], agent: str | None) -> str:
    """Return what somebody who clears delays may not expect."""
    hints = []
    if agent not in {None, "all"} and any(fault["agents"] == "all" for fault in plan["faults"]):
        hints.append("those on all links stay (edgefw delay clear all)")
    if disabled := plan["disabled"]:
        listed = ", ".join(map(str, disabled))
        hints.append(f"disabled links stay disabled: {listed} (edgefw delay enable {disabled[0]})")
    return "".join(f"; {hint}" for hint in hints)


def _row(link: dict[str, Any]) -> list[str]:
    state = ("up" if link["connected"] else "away") if link["enabled"] else "disabled"
    shown = ("pending", "due", "oldest_age", "requested_delay", "next_due")
    numbers = ["-" if link[name] is None else _rounded(link[name]) for name in shown]
    return [str(link["agent"]), state, *numbers, "\n".join(_summary(fault) for fault in link["faults"])]


def _rounded(value: int | str) -> str:
    """Return a number as it is, a time to the millisecond: more does not fit, and nobody reads it.

    >>> _rounded(12), _rounded("681.479ms"), _rounded("1.61788s")
    ('12', '681ms', '1.618s')
    """
    return str(value) if isinstance(value, int) else format_duration(round(parse_duration(value), 3))


def _whose(fault: dict[str, Any]) -> str:
    return "all agents" if fault["agents"] == "all" else f"agent {fault['agents'][0]}"


def _summary(fault: dict[str, Any]) -> str:
    """Return a fault in a line: what is as usual is left out."""
    type_, own = fault["type"], dict(fault["attributes"])
    words = [f"{fault['name']}{' (all)' if fault['agents'] == 'all' else ''}:", type_]
    if type_ in own:  # latency 750ms, rounds 20
        words.append(str(own.pop(type_)))
    shown = ("probability", "at", "duration")
    unusual: dict[str, Any] = {name: fault[name] for name in shown if name in fault}
    if unusual["probability"] == 1:
        del unusual["probability"]
    if fault["apply_to"] != TYPES[type_].acts_on_by_default:
        unusual["apply_to"] = fault["apply_to"]
    return " ".join([*words, *(f"{name}={_short(value)}" for name, value in (own | unusual).items())])


def _count(faults: list[Any]) -> str:
    return "1 fault" if len(faults) == 1 else f"{len(faults)} faults"


def _short(value: Any) -> str:
    return f"{len(value)} values" if isinstance(value, list) else str(value)


def _print_json(data: Any) -> None:
    print(json.dumps(data, indent=2))  # noqa: T201 - plain, for programs
