"""`edgefw bench`: time and weigh the simulator or the broker on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.commands.options import positive
from edgefw.errors import unknown
from edgefw.experiments import bench, broker_bench

if TYPE_CHECKING:
    import argparse

SECONDS = 10.0  # of each measurement of the broker


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = "example: edgefw bench broker"
    parser.add_argument(
        "what", nargs="?", default="simulator", metavar="WHAT", help="simulator (default) or broker"
    )
    parser.add_argument("--runs", type=positive, default=5, metavar="N", help="of the broker (5)")
    parser.add_argument(
        "--dir", default="runs", metavar="DIR", help="where the broker keeps its journal meanwhile (runs)"
    )
    parser.set_defaults(call=_run)


def _run(arguments: argparse.Namespace) -> None:
    if arguments.what == "simulator":
        _simulator()
    elif arguments.what == "broker":
        _broker(arguments.runs, Path(arguments.dir))
    else:
        raise unknown("bench", arguments.what, ["simulator", "broker"])


def _simulator() -> None:
    costs = []
    with terminal.progress_bar("timing simulated rounds", len(bench.TOPOLOGIES), unit="graphs") as progress:
        for position, topology in enumerate(bench.TOPOLOGIES, start=1):
            costs.append(bench.round_cost(topology))
            progress(position)
    terminal.table(
        "a simulated round, 30 agents, dimension 7,840, K = 32, float32, one core",
        ["graph", "round [ms]", "one pass over the oracle sums [ms]", "passes"],
        [
            [c.topology, f"{c.round_seconds * 1e3:.2f}", f"{c.pass_seconds * 1e3:.2f}", f"{c.passes:.1f}"]
            for c in costs
        ],
    )
    with terminal.status("weighing a run of 1,000 rounds"):
        peak = bench.peak_memory()
    terminal.out.print(
        f"peak memory of a run with 20 agents drawn to be 501 rounds late, T = 1000: {peak:.0f} MB"
    )


def _broker(runs: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _lateness(runs, folder)
    with terminal.status("changing the plan"):
        effects = broker_bench.effect(folder)
    terminal.out.print(
        f"a change of the plan acts {effects[len(effects) // 2] * 1e3:.1f} ms after its answer "
        f"(median of {len(effects)}; below 0: before it), {effects[-1] * 1e3:.1f} ms at most"
    )
    with terminal.status("submitting as fast as it goes"):
        intakes = sorted(
            (broker_bench.intake(folder, seconds=SECONDS) for _ in range(runs)), key=lambda i: i.per_second
        )
    middle = intakes[len(intakes) // 2]
    terminal.out.print(
        f"durable intake: {middle.per_second:.0f} feedbacks of 9 kB a second, "
        f"{broker_bench.IN_FLIGHT} in flight (median of {runs}; "
        f"{intakes[0].per_second:.0f} to {intakes[-1].per_second:.0f}), "
        f"{middle.cpu * 1e6:.0f} us of processor each; SQLite in WAL mode, synchronous FULL, in {folder}"
    )


def _lateness(runs: int, folder: Path) -> None:
    rows = []
    with terminal.progress_bar("measuring lateness", 2 * runs, unit="runs") as progress:
        for admin_calls in (False, True):
            measured = []
            for _ in range(runs):
                measured.append(broker_bench.lateness(folder, seconds=SECONDS, admin_calls=admin_calls))
                progress(runs * admin_calls + len(measured))
            middle = broker_bench.median(measured)
            calls = f"{middle.admin_calls / SECONDS:.0f}/s" if admin_calls else "none"
            rows.append([calls, *_times(middle), str(sum(m.early for m in measured)), f"{middle.cpu:.2f}"])
    terminal.table(
        f"lateness at the receiver: {broker_bench.RATE} feedbacks/s of 9 kB over "
        f"{broker_bench.AGENTS} links, {broker_bench.PENDING} pending, median of {runs} runs",
        ["admin calls", "p50 [ms]", "p99 [ms]", "worst [ms]", "early", "broker's cores"],
        rows,
    )


def _times(measured: broker_bench.Lateness) -> list[str]:
    return [f"{value * 1e3:.2f}" for value in (measured.p50, measured.p99, measured.worst)]
