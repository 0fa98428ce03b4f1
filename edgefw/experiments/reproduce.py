"""`edgefw reproduce TARGET`: one function for every table and figure of the paper.

The settings are those of the authors' published runs; `published.DEPARTURES` says where the text differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.errors import unknown
from edgefw.experiments import plots, report
from edgefw.experiments.figure23 import figure2, figure3
from edgefw.experiments.regret import regret
from edgefw.experiments.size import Size, announce, make_size
from edgefw.experiments.table1 import table1
from edgefw.experiments.table2 import figure4, table2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_TARGETS: Mapping[str, Callable[[Size, Path, int | None], None]] = {
    "table1": table1,
    "table2": table2,
    "figure2": figure2,
    "figure3": figure3,
    "figure4": figure4,
    "regret": regret,
}

TARGETS: tuple[str, ...] = tuple(_TARGETS)


def run(target: str, *, quick: bool, seeds: int | None, out: Path, jobs: int | None) -> None:
    """Reproduce one target: print its tables and verdicts, write its CSV files and figures to `out`."""
    if target not in _TARGETS:
        raise unknown("target", target, TARGETS)
    size = make_size(quick=quick, seeds=seeds)
    report.prepare(out)
    if target != "table1":  # which draws nothing, and whose counts do not depend on the size
        plots.require()
        announce(size)
    _TARGETS[target](size, out, jobs)
