"""`edgefw chaos`: kill, pause or cut off a container, and undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.commands.options import add_project
from edgefw.containers.chaos import ACTIONS
from edgefw.containers.engine import Containers

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw chaos kill 3"
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument("agent", metavar="AGENT", help="an agent's number, or a service's name")
    add_project(parser)
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    with terminal.status("asking the engine"), Containers(arguments.project) as containers:
        done = ACTIONS[arguments.action](containers, containers.member(arguments.agent))
    terminal.out.print(done)
