"""`edgefw collect`: bring a run's folder out of its container, with all logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.commands.options import add_project
from edgefw.containers.collect import collect
from edgefw.containers.engine import Containers

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw collect --out runs"
    parser.add_argument("run", nargs="?", metavar="RUN", help="its name (default: the latest)")
    parser.add_argument("--out", type=Path, default="runs", metavar="DIR", help="where to put it (runs)")
    add_project(parser)
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    with terminal.status("copying the run's folder and logs"), Containers(arguments.project) as containers:
        where = collect(containers, arguments.run, arguments.out)
    terminal.out.print(f"{where} is there; `edgefw verify {where}` checks it")
