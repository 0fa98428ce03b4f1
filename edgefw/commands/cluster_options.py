"""The options of the commands about containers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from edgefw.cluster.project import project_of

if TYPE_CHECKING:
    import argparse

ACTIONS = ("kill", "pause", "resume", "cut", "heal")


def add(commands: Any) -> None:
    """Add `status`, `chaos` and `collect` to the commands."""
    status = commands.add_parser("status", help="the containers of a run: health, cpu, memory, round, regret")
    status.add_argument("--json", action="store_true", help="as JSON")
    status.set_defaults(call=_status)
    chaos = commands.add_parser("chaos", help="kill, pause or cut off a container, and undo it")
    chaos.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    chaos.add_argument("agent", metavar="AGENT", help="an agent's number, or a service's name")
    chaos.set_defaults(call=_chaos)
    collect = commands.add_parser("collect", help="bring a run's folder out of its container")
    collect.add_argument("run", nargs="?", metavar="RUN", help="its name (default: the latest)")
    collect.add_argument("--out", default="runs", metavar="DIR", help="where to put it (runs)")
    collect.set_defaults(call=_collect)
    for parser in (status, chaos, collect):
        parser.add_argument(
            "--project",
            default=project_of(os.environ),
            metavar="NAME",
            help="the Compose project ($COMPOSE_PROJECT_NAME, or edgefw)",
        )


def _status(arguments: argparse.Namespace) -> None:
    _cluster().status(arguments.project, as_json=arguments.json)


def _chaos(arguments: argparse.Namespace) -> None:
    _cluster().chaos(arguments.project, arguments.action, arguments.agent)


def _collect(arguments: argparse.Namespace) -> None:
    _cluster().collect(arguments.project, arguments.run, arguments.out)


def _cluster() -> Any:
    from edgefw.commands import cluster  # noqa: PLC0415 - what one command needs, the others do not load

    return cluster
