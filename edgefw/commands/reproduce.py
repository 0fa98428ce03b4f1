"""`edgefw reproduce`: run the paper's experiments and compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.commands.options import add_jobs, positive
from edgefw.experiments.published import departures
from edgefw.reports import reproduction

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = f"example: edgefw reproduce all --quick\n\n{departures()}"
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="table1, table2, figure2, figure3, figure4 or regret; or all, in one report",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a small version of it, in about a minute (all: two)"
    )
    parser.add_argument("--seeds", type=positive, metavar="N", help="how many seeds (default: 3)")
    parser.add_argument("--out", metavar="DIR", help="where data and figures go (default: results/<target>)")
    add_jobs(parser)
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    reproduction.run(
        arguments.target,
        quick=arguments.quick,
        seeds=arguments.seeds,
        out=Path(arguments.out or f"results/{arguments.target}"),
        jobs=arguments.jobs,
    )
