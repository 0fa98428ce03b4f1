"""`edgefw broker`: the broker (started by `up`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.commands.options import add_advertise, add_service, address, network, place
from edgefw.services.broker import process
from edgefw.services.broker.admin.app import AdminOptions
from edgefw.transport.credentials import ADMIN_TOKEN, ADMIN_TOKEN_FILE, secret

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = (
        "example: edgefw broker --join 127.0.0.1:7000 --journal broker.sqlite --listen 127.0.0.1:7001"
    )
    run = parser.add_mutually_exclusive_group(required=True)
    run.add_argument("--join", metavar="HOST:PORT", help="the observer's address: serve its runs")
    run.add_argument("--scenario", metavar="FILE", help="serve this scenario, for whoever knows it")
    keeps = parser.add_mutually_exclusive_group(required=True)
    keeps.add_argument("--journal", metavar="FILE", help="where it keeps what it holds, through a crash too")
    keeps.add_argument("--memory", action="store_true", help="keep nothing: for throw-away runs")
    admin = parser.add_argument_group(
        "admin endpoint",
        "it asks for the token in EDGEFW_ADMIN_TOKEN, or in the file that EDGEFW_ADMIN_TOKEN_FILE names",
    )
    admin.add_argument(
        "--admin", type=address, metavar="HOST:PORT", help="where it listens (none if left out)"
    )
    admin.add_argument("--admin-open", action="store_true", help="listen beyond this machine without a token")
    admin.add_argument(
        "--admin-name",
        action="append",
        default=[],
        metavar="NAME",
        help="a host name it answers to, beside localhost and addresses (may be repeated)",
    )
    add_advertise(parser)
    add_service(parser)
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> int:
    listen = place(arguments)
    journal = None if arguments.memory else Path(arguments.journal)
    chosen = process.BrokerOptions(listen, journal, _admin(arguments), network(arguments))
    if arguments.join is None:
        return process.run(arguments.scenario, chosen)
    return process.run_joined(arguments.join, arguments.advertise or listen.address, chosen)


def _admin(arguments: argparse.Namespace) -> AdminOptions | None:
    if arguments.admin is None:
        return None
    host, port = arguments.admin
    return AdminOptions(
        host,
        port,
        token=secret(os.environ, ADMIN_TOKEN, ADMIN_TOKEN_FILE),
        names=frozenset(arguments.admin_name),
        open_=arguments.admin_open,
    )
