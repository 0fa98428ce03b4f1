"""`edgefw observer`: the observer (started by `up`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.commands.options import add_service, network, place
from edgefw.services.observer import service

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw observer --scenario my.yaml --runs runs --listen 127.0.0.1:7000"
    parser.add_argument(
        "--scenario", metavar="FILE", help="a scenario file or name (default: the text in EDGEFW_SCENARIO)"
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, metavar="DIR", help="the folder of the one run to observe")
    where.add_argument("--runs", type=Path, metavar="DIR", help="where every run gets a folder of its own")
    add_service(parser)
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> int:
    return service.run(
        service.ObserverConfig(
            arguments.scenario,
            place(arguments),
            out=arguments.out,
            runs=arguments.runs,
            stay=arguments.stay,
            transport=network(arguments, make=True),
        )
    )
