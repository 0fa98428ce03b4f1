"""`edgefw bench`: what things cost on this machine."""

from __future__ import annotations

from edgefw import terminal
from edgefw.experiments import bench


def run() -> None:
    """Print the cost of a simulated round and the memory of a run."""
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
