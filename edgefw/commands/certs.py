"""`edgefw certs`: make the certificates by which services prove who they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.commands.options import positive
from edgefw.errors import InputError
from edgefw.transport.credentials import services

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw certs my-certs --agents 8"
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="where: an authority, and a folder for each service"
    )
    parser.add_argument("--agents", type=positive, default=8, metavar="N", help="for agents 0 to N-1 (8)")
    parser.add_argument(
        "--days",
        type=positive,
        default=365,
        metavar="D",
        help="how long they are good (365); the authority, ten years",
    )
    parser.add_argument(
        "--owner", type=int, metavar="UID", help="whose files they are to be (default: of who makes them)"
    )
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    """Make what is missing; what is there and good is kept."""
    try:
        from edgefw.transport.authority import make_certificates  # noqa: PLC0415 - nobody else needs the package
    except ModuleNotFoundError as error:
        if error.name != "cryptography":
            raise
        raise InputError("edgefw certs needs the package cryptography: pip install 'edgefw[tls]'") from None
    names = services(arguments.agents)
    made = make_certificates(arguments.folder, names, arguments.days, arguments.owner)
    kept = f"; {len(names) - len(made)} were there" if len(made) < len(names) else ""
    terminal.out.print(f"{arguments.folder}: {len(made)} certificates were made{kept}")
