"""`edgefw data`: list, fetch or locate data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.errors import DataError
from edgefw.problem.datasets import listing, locate, published
from edgefw.problem.fetch import fetch

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = "example: edgefw data list"
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listed = actions.add_parser(
        "list", help="which data sets there are, and where", epilog="example: edgefw data list"
    )
    listed.set_defaults(call=_list)
    for name, call, summary in (
        ("fetch", _fetch, "download one, with its checksums"),
        ("path", _path, "print where one is"),
    ):
        action = actions.add_parser(name, help=summary, epilog=f"example: edgefw data {name} mnist")
        action.add_argument("name", metavar="NAME", help="fashion-mnist or mnist")
        action.set_defaults(call=call)


def _list(_arguments: argparse.Namespace) -> None:
    rows = [[s.name, str(s.path) if s.path else s.how, s.description] for s in listing()]
    terminal.table("data sets", ["name", "where, or how to get it", "what it is"], rows)


def _path(arguments: argparse.Namespace) -> None:
    found = locate(arguments.name)
    if found is None:
        how = published(arguments.name).how
        raise DataError(f"data set {arguments.name!r} is not on this machine: {how}")
    print(found)  # noqa: T201 - plain, for scripts


def _fetch(arguments: argparse.Namespace) -> None:
    """Download a data set into the user's cache, with a bar over its files."""
    shown: dict[str, int] = {}
    with terminal.progress_bar(f"fetching {arguments.name}", 4, unit="files") as progress:

        def count(file: str, done: int, size: int | None) -> None:
            shown[file] = size or 0
            progress(len(shown) if done == size else len(shown) - 1)

        folder = fetch(arguments.name, progress=count)
    terminal.out.print(f"{arguments.name} is in {folder}")
