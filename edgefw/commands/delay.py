"""`edgefw delay`: look at and change the delays of a run that goes on."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from rich.table import Table

from edgefw import terminal
from edgefw.commands.admin_client import Admin, EndpointError, StreamEvent
from edgefw.commands.delay_fault import types, wanted_fault
from edgefw.commands.delay_files import read_plan, write_plan
from edgefw.delays.body import every_attribute
from edgefw.delays.units import format_duration, parse_duration
from edgefw.delays.words import in_a_line
from edgefw.errors import InputError
from edgefw.local.running import running
from edgefw.transport.credentials import ADMIN_TOKEN, ADMIN_TOKEN_FILE, secret

Act = Callable[[Admin, argparse.Namespace], tuple[Any, str | Table]]

ADMIN = "EDGEFW_ADMIN"
PORT = "EDGEFW_ADMIN_PORT"  # where compose.yaml publishes the endpoint on this machine
DEFAULT = "7070"
EXAMPLES = """\
examples:
  edgefw delay ls                                  every link and the faults in force on it
  edgefw delay set 3 750ms --jitter 200ms --for 30s
  edgefw delay set all 2s --distribution pareto --jitter 1s --name storm
  edgefw delay set 3 20                            twenty rounds, where the run's clock is rounds
  edgefw delay set 3 --type ramp start=0s stop=2s step=500ms interval=5s
  edgefw delay clear 3                             remove what was set on agent 3's link
  edgefw delay disable 3                           hold everything of agent 3, until `edgefw delay enable 3`
  edgefw delay plan > plan.yaml                    keep the plan; `edgefw delay plan plan.yaml` puts it back
  edgefw delay watch                               changes and releases as they come
"""

_EXAMPLES = {
    "ls": "ls --json",
    "set": "set 3 750ms --jitter 200ms --for 30s",
    "clear": "clear 3",
    "disable": "disable 3",
    "enable": "enable 3",
    "plan": "plan > plan.yaml",
    "watch": "watch --changes",
}
_TRIES = 3  # of a change that others may come in between of


def options(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = EXAMPLES
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    _add(actions, "ls", _ls, "every link: its queue, and the faults in force")
    _add_set(_add(actions, "set", _set, "delay the feedback of an agent, or of all"))
    clear = _add(actions, "clear", _clear, "remove every fault, an agent's, or one")
    whose = "whose; all: those on all links together; every fault if left out"
    clear.add_argument("agent", metavar="AGENT", nargs="?", help=whose)
    clear.add_argument("name", metavar="NAME", nargs="?", help="only this one")
    for name, enabled, text in (
        ("disable", False, "hold everything of an agent, like a blackout without end"),
        ("enable", True, "let a disabled agent's feedback through again"),
    ):
        switch = _add(actions, name, _enable, text)
        switch.add_argument("agent", metavar="AGENT", help="an agent's number")
        switch.set_defaults(enabled=enabled)
    plan = _add(actions, "plan", _plan, "show the whole delay plan, or put another in its place")
    kinds = "YAML or JSON: a list of faults, {faults: [...]}, or a scenario (its delays and events)"
    plan.add_argument("file", metavar="FILE", nargs="?", help=kinds)
    watch = _add(actions, "watch", None, "print changes and releases as they come, until Ctrl-C")
    watch.add_argument("--changes", action="store_true", help="changes of the plan alone")
    watch.set_defaults(call=_watch)


def _add(actions: Any, name: str, act: Act | None, text: str) -> argparse.ArgumentParser:
    """Add an action; what it gives is printed as JSON, or in words."""
    example = f"example: edgefw delay {_EXAMPLES[name]}"
    parser: argparse.ArgumentParser = actions.add_parser(name, help=text, epilog=example)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--admin",
        metavar="URL",
        help=f"of the broker's admin endpoint (default: ${ADMIN}, else port ${PORT} or {DEFAULT} here)",
    )
    parser.add_argument(
        "--token",
        metavar="TOKEN",
        help=f"of the endpoint, if it asks (default: {ADMIN_TOKEN}, or in the file {ADMIN_TOKEN_FILE}, where "
        "nobody else on this machine sees it)",
    )
    parser.set_defaults(call=_call, act=act)
    return parser


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{parser.epilog}\n\n{types()}"
    parser.add_argument("agent", metavar="AGENT", help="an agent's number, or all")
    parser.add_argument(
        "amount", metavar="AMOUNT", nargs="?", help="750ms, 2s; a number of rounds under the rounds clock"
    )
    parser.add_argument(
        "--type",
        dest="fields",
        nargs="+",
        metavar=("TYPE", "FIELD=VALUE"),
        help="any fault type (below) with its fields, instead of AMOUNT",
    )
    parser.add_argument("--jitter", metavar="AMOUNT", help="how far it varies")
    parser.add_argument(
        "--distribution", metavar="LAW", help="by which it varies: uniform, pareto, ... (below)"
    )
    parser.add_argument("--correlation", type=_number, metavar="C", help="0 to 1, with the round before")
    parser.add_argument("--seed", type=_number, metavar="N", help="a seed of its own for the draws")
    parser.add_argument("--probability", type=_number, metavar="P", help="chance that a feedback is affected")
    parser.add_argument("--trace", metavar="FILE", help="amounts from a file, one a line, instead of AMOUNT")
    parser.add_argument(
        "--apply-to",
        choices=("new", "pending"),
        metavar="WHICH",
        help="new feedback (default), or pending too",
    )
    parser.add_argument("--name", default="delay", metavar="NAME", help="of the fault; one there is replaced")
    parser.add_argument("--for", dest="duration", metavar="TIME", help="ends after 30s, say, or 100 rounds")


def _call(arguments: argparse.Namespace) -> None:
    with _admin(arguments) as admin:
        try:
            document, words = arguments.act(admin, arguments)
        except EndpointError as error:
            hints = [] if error.status is not None or _is_told(arguments) else _others(arguments, admin)
            raise EndpointError("; ".join([str(error), *hints]), error.status) from None
        if terminal.err.is_terminal and not arguments.json:  # a person may have two runs at once
            terminal.err.print(f"run {admin.call('GET', '/version').get('run', 'unknown')} at {admin.url}")
            for hint in _others(arguments, admin):
                terminal.err.print(hint)
    if arguments.json:
        terminal.print_json(document)
    elif isinstance(words, str):
        print(words)  # noqa: T201 - plain: a plan is redirected into a file
    else:
        terminal.out.print(words)


def _admin(arguments: argparse.Namespace) -> Admin:
    """Return the endpoint that is meant."""
    url = _is_told(arguments) or f"http://127.0.0.1:{_port()}"
    return Admin(url, arguments.token or secret(os.environ, ADMIN_TOKEN, ADMIN_TOKEN_FILE))


def _is_told(arguments: argparse.Namespace) -> str | None:
    """Return where the endpoint was said to be."""
    return arguments.admin or os.environ.get(ADMIN) or None


def _others(arguments: argparse.Namespace, admin: Admin) -> list[str]:
    """Return the other runs of processes on this machine, each with the command that speaks to it."""
    others = [run for run in running() if run.admin and run.admin != admin.url.partition("//")[2].rstrip("/")]
    return [
        f"run {run.folder.resolve().name} goes on too: {_again(arguments, run.admin or '')}" for run in others
    ]


def _again(arguments: argparse.Namespace, admin: str) -> str:
    """Return the command that was typed, for the endpoint of another run."""
    words, kept = iter(arguments.words), list[str]()
    for word in words:
        if word == "--admin":
            next(words)
        elif not word.startswith("--admin="):
            kept.append(word)
    return shlex.join(["edgefw", *kept, "--admin", admin])


def _port() -> str:
    text = os.environ.get(PORT) or DEFAULT
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 2**16):
        raise InputError(f"{PORT} is {text!r}: it must be a port, such as {DEFAULT}")
    return text


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    return int(value) if value.is_integer() else value


def _ls(admin: Admin, _arguments: argparse.Namespace) -> tuple[Any, Table]:
    """Show every link and the faults in force on it."""
    state = admin.call("GET", "/links")
    header = ["agent", "state", "pending", "due", "oldest", "delay", "next", "faults"]
    rows = [_row(link) for link in state["links"]]
    return state, terminal.make_table(f"links ({state['clock']} clock)", header, rows)


def _set(admin: Admin, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Delay an agent's feedback (or all agents'); a fault of that name is replaced."""
    path = _faults_of(arguments.agent)
    clock = admin.call("GET", "/version")["clock"]
    fault = _post_or_patch(admin, path, wanted_fault(arguments, clock) | {"name": arguments.name})
    whose = "all agents" if fault["agents"] == "all" else f"agent {fault['agents'][0]}"
    return fault, f"{whose}: {_summary(fault)}"


def _clear(admin: Admin, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Remove every fault; those of an agent's link alone; or one of them."""
    agent, name = arguments.agent, arguments.name
    path = None if agent is None else _faults_of(agent)
    before = admin.call("GET", "/plan")
    if path is None:
        admin.call("POST", "/reset")
    elif name is not None:
        admin.call("DELETE", f"{path}/{quote(name, safe='')}")
    else:
        _remove_all(admin, agent)
    after = admin.call("GET", "/plan")
    there, left = _each(before["faults"]), _each(after["faults"])
    removed = sum(fault not in left for fault in there)
    return after, f"removed {removed} of {_count(there)}{_hint(after, agent)}"


def _plan(admin: Admin, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Show the whole plan, or put that of a file in its place."""
    if arguments.file is None:
        shown = admin.call("GET", "/plan")
        return shown, write_plan(shown)
    shown = admin.call("PUT", "/plan", read_plan(arguments.file))
    count, version = _count(_each(shown["faults"])), shown["version"]
    return shown, f"the plan has {count} now (version {version}){_hint(shown, None)}"


def _enable(admin: Admin, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Let an agent's feedback through again, or hold all of it until then."""
    agent = arguments.agent
    path = _faults_of(agent)
    if agent == "all":
        raise InputError("AGENT is all: links are enabled and disabled one by one")
    link = admin.call("PATCH", path.removesuffix("/faults"), {"enabled": arguments.enabled})
    held = f"disabled: it holds everything until edgefw delay enable {agent}"
    return link, f"the link of agent {link['agent']} is {'enabled' if arguments.enabled else held}"


def _watch(arguments: argparse.Namespace) -> None:
    """Print changes and releases as they come."""
    with _admin(arguments) as admin:
        for event in admin.events("change" if arguments.changes else None):
            print(_line(event, as_json=arguments.json), flush=True)  # noqa: T201 - also for a program


def _line(event: StreamEvent, *, as_json: bool) -> str:
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
    own = dict.fromkeys(every_attribute()) | body["attributes"]
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


def _summary(fault: dict[str, Any]) -> str:
    """Return a fault in a line, with its name."""
    return f"{fault['name']}{' (all)' if fault['agents'] == 'all' else ''}: {in_a_line(fault)}"


def _count(faults: list[Any]) -> str:
    return "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
