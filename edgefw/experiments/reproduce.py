"""Every table and figure of the paper, by name.

The settings are those of the authors' published runs; `published.DEPARTURES` says where the text differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgefw import terminal
from edgefw.errors import unknown
from edgefw.experiments import plots
from edgefw.experiments.centralized import FIGURE_2, FIGURE_3
from edgefw.experiments.distributed import FIGURE_4, TABLE_2
from edgefw.experiments.experiment import Experiment, prepare
from edgefw.experiments.regret import REGRET
from edgefw.experiments.size import announce, make_size
from edgefw.experiments.table1 import table1

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

EXPERIMENTS: Mapping[str, Experiment[Any]] = {
    "table2": TABLE_2,
    "figure2": FIGURE_2,
    "figure3": FIGURE_3,
    "figure4": FIGURE_4,
    "regret": REGRET,
}
TARGETS = ("table1", *EXPERIMENTS)


def run(
    target: str,
    *,
    quick: bool,
    seeds: int | None,
    out: Path,
    jobs: int | None,
    known_targets: Sequence[str] = TARGETS,
) -> None:
    """Reproduce one target: print its tables and verdicts, write its CSV files and figures to `out`."""
    if target not in TARGETS:
        raise unknown("target", target, known_targets)
    size = make_size(quick=quick, seeds=seeds)
    prepare(out)
    if target == "table1":  # counts what a round costs: it draws nothing, and no count depends on the size
        findings = table1(size)
    else:
        plots.require()
        announce(size, *EXPERIMENTS[target].data)
        findings = EXPERIMENTS[target].run(size, jobs)
    findings.show()
    written = findings.write(out, target)
    terminal.out.print(f"Written: {', '.join(str(path) for path in written)}")
