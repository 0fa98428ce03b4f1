"""Options that several commands have."""

from __future__ import annotations

import argparse
import os
import socket
from pathlib import Path
from typing import Any

from edgefw.containers.project import project_of
from edgefw.services.config import Place
from edgefw.transport.channel import GrpcTransport
from edgefw.transport.credentials import TLS, from_environment


def add_scenario(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the scenario and the fields to override in it."""
    scenario: Any = parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs=None if default is None else "?",
        default=default,
        help="a scenario file, or a name from `edgefw scenarios list`" + (f" ({default})" if default else ""),
    )
    scenario.completer = _scenarios
    add_overrides(parser)


def _scenarios(**_: object) -> list[str]:
    """Return what a shell may complete a scenario to, beside files."""
    from edgefw.scenario.load import names  # noqa: PLC0415 - of use for a shell alone

    return names()


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Add the fields to override in a scenario."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        dest="overrides",
        help="override a field, such as network.agents=30 or delays.0.rounds=50 (may be repeated)",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add how many processes simulate."""
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes at a time (default: all cores)")


def add_project(parser: argparse.ArgumentParser) -> None:
    """Add the Compose project whose containers the command is about."""
    parser.add_argument(
        "--project",
        default=project_of(os.environ),
        metavar="NAME",
        help="the Compose project ($COMPOSE_PROJECT_NAME, or edgefw)",
    )


def add_service(parser: argparse.ArgumentParser) -> None:
    """Add what every service is told: where it listens, and whether it stays."""
    parser.add_argument("--listen", required=True, type=address, metavar="HOST:PORT", help="gRPC address")
    parser.add_argument(
        "--metrics-port",
        type=int,
        default=int(os.environ.get("EDGEFW_METRICS_PORT", "9464")),
        metavar="PORT",
        help="HTTP, same host, for metrics and health (9464)",
    )
    parser.add_argument("--stay", action="store_true", help="stay up when the run is over")
    add_tls(
        parser, "the folder with its certificate and key, see `edgefw certs` (default: EDGEFW_TLS, or none)"
    )


def add_tls(parser: argparse.ArgumentParser, text: str) -> None:
    """Add where certificates are."""
    parser.add_argument("--tls", type=Path, metavar="DIR", help=text)


def place(arguments: argparse.Namespace) -> Place:
    """Return where a service listens, and the names that others call it by."""
    host, port = arguments.listen
    advertised = getattr(arguments, "advertise", None) or f"{host}:{port}"
    names = frozenset({advertised.rpartition(":")[0], socket.gethostname()})
    return Place(host, port, arguments.metrics_port, names)


def network(arguments: argparse.Namespace, *, make: bool = False) -> GrpcTransport:
    """Return the network of a service, with the credentials of this process; with `make`, a token is made."""
    told = {} if arguments.tls is None else {TLS: str(arguments.tls)}
    return GrpcTransport(from_environment({**os.environ, **told}, make=make))


def add_advertise(parser: argparse.ArgumentParser) -> None:
    """Add where others reach a service."""
    parser.add_argument(
        "--advertise", metavar="HOST:PORT", help="where others reach it (default: where it listens)"
    )


def address(text: str) -> tuple[str, int]:
    """Return the host and the port of HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, int(port)


def port(text: str) -> int:
    """Return a port."""
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def positive(text: str) -> int:
    """Return a whole number above 0."""
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value
