"""`edgefw check`: hold your own algorithm, loss, set, fault or data set to what ours have to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgefw import terminal
from edgefw.checks import suite
from edgefw.errors import InputError
from edgefw.scenario.load import parse_value

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = (
        "examples:\n"
        "  edgefw check my_pkg.mod:Momentum                       a class of an installed package\n"
        "  edgefw check de2mfw                                    one that is built in\n\n"
        "exit code: 0 every check is passed, 1 one is not, 2 there is no such class or it misses something"
    )
    parser.add_argument(
        "name", metavar="NAME", help="package.module:Class, an entry point, or a built-in name"
    )
    parser.add_argument("--params", default="{}", metavar="MAPPING", help="given to its class: '{beta: 0.9}'")
    parser.set_defaults(call=lambda arguments: run(arguments.name, arguments.params))


def run(name: str, params: str) -> int:
    """Run all checks of what a name stands for, a line each; return the exit code."""
    given: Any = parse_value(params, f"--params {params}")
    if not isinstance(given, dict):
        raise InputError(f"--params {params}: write a mapping, such as {{beta: 0.9}}")
    what, checks = suite.checks_of(name, given)
    failed = 0
    for outcome in suite.run(checks):
        failed += outcome.wrong is not None
        terminal.out.print(_line(outcome), soft_wrap=True, markup=False, highlight=False)
    passed = len(checks) - failed
    terminal.out.print(f"{what} {name}: {passed} of {len(checks)} checks passed", highlight=False)
    return 1 if failed else 0


def _line(outcome: suite.CheckResult) -> str:
    return f"ok    {outcome.what}" if outcome.wrong is None else f"FAIL  {outcome.what}: {outcome.wrong}"
