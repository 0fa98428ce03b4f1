"""`edgefw status`: the services of a run, processes or containers: health, cpu, memory, round, regret."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.containers.engine import Containers, EngineError
from edgefw.containers.project import VARIABLE, project_of
from edgefw.containers.status import status as of_containers
from edgefw.errors import EdgefwError
from edgefw.local.running import running
from edgefw.local.status import status as of_processes

if TYPE_CHECKING:
    import argparse

    from edgefw.telemetry.status import Status

_HEADER = ("service", "state", "health", "cores", "MB", "round", "regret >=", "feedback out")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw status --json"
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--project",
        default=os.environ.get(VARIABLE) or None,
        metavar="NAME",
        help="the containers of this Compose project alone (default: $COMPOSE_PROJECT_NAME, else all runs of "
        "processes on this machine and the containers of edgefw)",
    )
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    with terminal.status("looking at every service"):
        found = _everywhere() if arguments.project is None else _containers(arguments.project)
    if arguments.json:
        terminal.out.print_json(json.dumps([asdict(each) for each in found]))
        return
    for run in dict.fromkeys(each.run for each in found):
        terminal.table(run, _HEADER, [_row(each) for each in found if each.run == run])


def _everywhere() -> list[Status]:
    """Return how all processes of all runs here are, and all containers, if there are any."""
    found = [each for run in running() for each in of_processes(run)]
    try:
        return found + _containers(project_of({}))
    except EngineError as error:
        if found:
            return found
        raise EdgefwError(f"no run of `edgefw up` goes on on this machine, and {error}") from None


def _containers(project: str) -> list[Status]:
    with Containers(project) as containers:
        return of_containers(containers)


def _row(each: Status) -> list[str]:
    learning = each.learning
    return [
        each.name,
        each.state,
        each.health or "-",
        terminal.number(each.cpu),
        terminal.number(None if each.memory is None else each.memory / 1e6, 0),
        terminal.number(learning.get("round"), 0),
        terminal.number(learning.get("regret")),
        terminal.number(learning.get("outstanding"), 0),
    ]
