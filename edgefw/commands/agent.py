"""`edgefw agent`: one agent (started by `up`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.commands.options import add_advertise, add_service, network, place
from edgefw.services.agent import service

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw agent --agent 0 --join 127.0.0.1:7000 --listen 127.0.0.1:7002"
    parser.add_argument("--agent", required=True, type=int, metavar="N", help="which one")
    add_advertise(parser)
    parser.add_argument("--join", required=True, metavar="HOST:PORT", help="the observer's address")
    parser.add_argument(
        "--checkpoints",
        type=Path,
        metavar="DIR",
        help="where it keeps what it needs to come back after a kill (default: nowhere)",
    )
    add_service(parser)
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> int:
    listen = place(arguments)
    advertise = arguments.advertise or listen.address
    return service.run(
        service.AgentOptions(
            arguments.agent,
            arguments.join,
            listen,
            advertise,
            stay=arguments.stay,
            transport=network(arguments),
            checkpoints=arguments.checkpoints,
        )
    )
