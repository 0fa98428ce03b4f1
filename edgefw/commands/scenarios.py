"""`edgefw scenarios`: list the ready-made scenarios, show one, or print the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.commands.options import add_scenario
from edgefw.scenario.load import describe, dump, load, names, what_to_watch
from edgefw.scenario.model import Scenario

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = "example: edgefw scenarios show ring-blackout"
    parser.set_defaults(call=_list)
    actions = parser.add_subparsers(metavar="ACTION", help="list, if left out")
    listed = actions.add_parser(
        "list", help="names and what they are about", epilog="example: edgefw scenarios list"
    )
    listed.set_defaults(call=_list)
    show = actions.add_parser(
        "show",
        help="a scenario with every default written out",
        epilog="example: edgefw scenarios show default --set network.agents=30",
    )
    add_scenario(show)
    show.set_defaults(call=_show)
    schema = actions.add_parser(
        "schema",
        help="the JSON schema of a scenario file, for editors",
        epilog="example: edgefw scenarios schema > scenario.schema.json",
    )
    schema.set_defaults(call=_schema)


def _list(_arguments: argparse.Namespace) -> None:
    rows = [[name, f"{describe(name)}\nwatch {what_to_watch(name)}"] for name in names()]
    terminal.table("ready-made scenarios", ["name", "what it is about, and what to watch"], rows)


def _show(arguments: argparse.Namespace) -> None:
    # plain, to be redirected into a file
    print(dump(load(arguments.scenario, arguments.overrides)), end="")  # noqa: T201


def _schema(_arguments: argparse.Namespace) -> None:
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Scenario.model_json_schema()}
    terminal.print_json(document)
