"""`edgefw compare`: hold scenarios, runs or algorithms against each other, seed by seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.api.comparing import SEEDS, compare
from edgefw.commands.options import add_jobs, add_overrides, positive
from edgefw.errors import InputError
from edgefw.reports.comparison_files import PAGE
from edgefw.scenario.load import load

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = (
        "examples:\n"
        "  edgefw compare default ring-blackout --set algorithm.horizon=200\n"
        "  edgefw compare --algorithms de2mfw,distributed-dgd --seeds 10 --tune\n"
        "  edgefw compare runs/default-20260101-120000 runs/default-20260101-130000\n\n"
        "Differences are from the first that is given, paired by seed. Results are kept as they end: the\n"
        "same command takes up an interrupted comparison, and one with more seeds runs the new ones only."
    )
    parser.add_argument(
        "sources",
        metavar="SCENARIO",
        nargs="*",
        help="a scenario file, a name from `edgefw scenarios list`, or a run folder",
    )
    parser.add_argument(
        "--algorithms", metavar="A,B,...", default="", help="run every scenario (default) with each of these"
    )
    parser.add_argument(
        "--seeds", type=positive, metavar="N", help=f"how many, from the first scenario's on ({SEEDS})"
    )
    parser.add_argument(
        "--tune",
        action="store_true",
        help="give each the best rate of one grid, the same for all, found on other seeds",
    )
    parser.add_argument(
        "--no-regret", action="store_true", help="losses only: do not look for best fixed points"
    )
    parser.add_argument(
        "--out", metavar="DIR", default="results/compare", help="where all of it goes (%(default)s)"
    )
    add_overrides(parser)
    add_jobs(parser)
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    sources = arguments.sources or (["default"] if arguments.algorithms else [])
    names = [name.strip() for name in arguments.algorithms.split(",")] if arguments.algorithms else []
    if not all(names):
        raise InputError(f"--algorithms {arguments.algorithms}: write names with commas between them")
    found = compare(
        *(each if Path(each).is_dir() else load(each, arguments.overrides) for each in sources),
        algorithms=names,
        seeds=arguments.seeds,
        tune=arguments.tune,
        out=arguments.out,
        regret=not arguments.no_regret,
        jobs=arguments.jobs,
    )
    for table in found.tables():
        table.show()
    for words in found.words():
        terminal.out.print(words)
    page = Path(arguments.out) / PAGE
    terminal.out.print(f"written to {arguments.out}; page: {page.absolute().as_uri()}")
