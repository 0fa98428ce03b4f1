"""`edgefw report`: one page on a run: who was late, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.api.reporting import report

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = (
        "example: edgefw report runs/default-20260101-120000\n\n"
        "The page is one HTML file that needs nothing else; its figures (PNG, SVG, PDF) and numbers (CSV)\n"
        "are beside it. What late feedback cost is the distance from the same run without delays, which is\n"
        "simulated."
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run folder; one that was cut short will do")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="where the report goes (default: RUN/report, of several runs/report-<time>)",
    )
    parser.add_argument("--no-verify", action="store_true", help="do not replay the runs")
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    path = report(*arguments.runs, out=arguments.out, verify=not arguments.no_verify)
    terminal.out.print(f"report: {path.absolute().as_uri()}")
