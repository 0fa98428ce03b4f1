"""`edgefw verify`: replay an emulated run and compare every play bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.records import RunFolder
from edgefw.verification.folder import check_folder

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = (
        "example: edgefw verify runs/default-20260101-120000\n\n"
        "exit code: 0 verified, every play bit for bit; 1 the record is not true; 2 it cannot be replayed;\n"
        "3 nothing is wrong, but not all could be checked (another build, no broker's account)"
    )
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument(
        "--regret",
        action="store_true",
        help="also search for the best fixed point once more: seconds to minutes",
    )
    parser.set_defaults(call=lambda arguments: run(arguments.run, regret=arguments.regret))


def run(run_folder: str, *, regret: bool = False) -> None:
    """Check the run in a folder; raise where it is not what was recorded, or could not be checked in full."""
    path = Path(run_folder)
    verdict = check_folder(RunFolder(path), regret=regret)
    for line in verdict.lines():
        terminal.out.print(line)
    verdict.require(path)
