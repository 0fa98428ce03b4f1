"""`edgefw bench`: what rounds, the broker, the simulator and a start cost, beside what they cost at least."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefw import terminal
from edgefw.benchmarks import broker_costs, gossip, simulated, startup
from edgefw.benchmarks.measure import REPEATS
from edgefw.benchmarks.setting import BenchNetwork
from edgefw.commands.options import positive
from edgefw.errors import unknown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from edgefw.benchmarks.measure import BenchResult, Median

NAMES = ("gossip", "broker", "simulate", "startup")
ALL = "all"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw bench gossip --agents 4"
    parser.add_argument(
        "what", nargs="?", default=ALL, metavar="WHAT", help=f"{', '.join(NAMES)}, or {ALL} (default)"
    )
    parser.add_argument(
        "--runs", type=positive, default=REPEATS, metavar="N", help=f"how often each is measured ({REPEATS})"
    )
    parser.add_argument(
        "--agents", type=positive, default=BenchNetwork.agents, metavar="N", help="of gossip (%(default)s)"
    )
    parser.add_argument(
        "--topology", default=BenchNetwork.topology, metavar="NAME", help="of gossip (%(default)s)"
    )
    parser.add_argument(
        "--dir", default="runs", metavar="DIR", help="where the broker keeps its journal meanwhile (runs)"
    )
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    if arguments.what not in {*NAMES, ALL}:
        raise unknown("bench", arguments.what, [*NAMES, ALL])
    benches = _benches(arguments)
    results = []
    for name in NAMES if arguments.what == ALL else [arguments.what]:
        with terminal.status(f"measuring {name}:") as tell:
            results.append(benches[name](partial(_progress, tell)))
        if not arguments.json:
            _show(results[-1])
    if arguments.json:
        terminal.print_json([_document(result) for result in results])


def _benches(arguments: argparse.Namespace) -> dict[str, Callable[..., BenchResult]]:
    network, runs = BenchNetwork(arguments.agents, arguments.topology), arguments.runs
    return {
        "gossip": partial(gossip.measure, network, runs),
        "broker": partial(broker_costs.measure, Path(arguments.dir), runs),
        "simulate": partial(simulated.measure, runs),
        "startup": partial(startup.measure, runs),
    }


def _progress(tell: Callable[[str], None], done: int, of: int) -> None:
    tell(f"{done} of {of}")


def _show(result: BenchResult) -> None:
    terminal.table(
        result.title,
        [f"a {result.unit}", "time [ms]", "processor [ms]"],
        [[thing.name, _cell(thing.wall, 1e3), _cell(thing.cpu, 1e3)] for thing in result.measured],
    )
    terminal.table(
        "how many times the floor",
        ["", "time", "processor"],
        [[f"{ratio.thing} / {ratio.floor}", _cell(ratio.wall), _cell(ratio.cpu)] for ratio in result.ratios],
    )
    for note in result.notes:
        terminal.out.print(note)


def _cell(spread: Median, scale: float = 1.0) -> str:
    low, middle, high = (_short(value * scale) for value in (spread.low, spread.middle, spread.high))
    return f"{middle} ({low} - {high})"


def _short(value: float) -> str:
    """Return a number with three digits that count.

    >>> _short(0.012345), _short(1.2345), _short(1234.5)
    ('0.0123', '1.23', '1234')
    """
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def _document(result: BenchResult) -> dict[str, Any]:
    """Return a result for programs: seconds, medians with the lowest and the highest."""
    return {
        "name": result.name,
        "title": result.title,
        "unit": result.unit,
        "measured": {
            thing.name: {"wall_seconds": asdict(thing.wall), "cpu_seconds": asdict(thing.cpu)}
            for thing in result.measured
        },
        "ratios": [asdict(ratio) for ratio in result.ratios],
        "figures": dict(result.figures),
    }
