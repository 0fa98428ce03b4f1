"""`edgefw simulate`: run a scenario as arrays, without a network."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.api.simulating import simulate_all
from edgefw.commands import summary_view
from edgefw.commands.options import add_jobs, add_scenario, positive
from edgefw.scenario.load import load

if TYPE_CHECKING:
    import argparse


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw simulate heavy-tail --seeds 5"
    add_scenario(parser)
    parser.add_argument(
        "--seeds",
        type=positive,
        default=1,
        metavar="N",
        help="run N seeds: the scenario's and the next ones",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="the run folder (default: runs/<name>-<time>); with --seeds, one that was interrupted goes on",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument(
        "--no-regret", action="store_true", help="losses only: do not look for the best fixed point"
    )
    add_jobs(parser)
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    """Simulate some runs of a scenario, with the scenario's seed and the ones after it."""
    runs = simulate_all(
        load(arguments.scenario, arguments.overrides),
        None if arguments.seeds == 1 else arguments.seeds,
        Path(arguments.out) if arguments.out else None,
        writes=True,
        regret=not arguments.no_regret,
        jobs=arguments.jobs,
    )
    summaries = [run.summary for run in runs]
    if arguments.json:
        documents = [asdict(summary) for summary in summaries]
        terminal.print_json(documents[0] if len(runs) == 1 else documents)
    elif runs[0].path is not None:
        summary_view.show(summaries, runs[0].path if len(runs) == 1 else runs[0].path.parent)
