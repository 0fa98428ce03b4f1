"""`edgefw status`, `edgefw chaos`, `edgefw collect`: a run in containers, from the outside."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from edgefw import terminal
from edgefw.cluster.chaos import ACTIONS
from edgefw.cluster.collect import collect as collect_run
from edgefw.cluster.engine import Cluster
from edgefw.cluster.status import Status
from edgefw.cluster.status import status as status_of


def status(project: str, *, as_json: bool) -> None:
    """Show the containers of a run."""
    with terminal.status("asking the engine"), Cluster(project) as cluster:
        found = status_of(cluster)
    if as_json:
        terminal.out.print_json(json.dumps([asdict(each) for each in found]))
        return
    terminal.table(
        f"containers of {project}",
        ["service", "state", "health", "cores", "MB", "round", "regret >=", "feedback out"],
        [_row(each) for each in found],
    )


def chaos(project: str, action: str, name: str) -> None:
    """Do something to a container."""
    with Cluster(project) as cluster:
        terminal.out.print(ACTIONS[action](cluster, cluster.member(name)))


def collect(project: str, run: str | None, out: str) -> None:
    """Bring a run's folder out of its volume."""
    with terminal.status("copying the run's folder"), Cluster(project) as cluster:
        where = collect_run(cluster, run, Path(out))
    terminal.out.print(f"{where} is there; `edgefw verify {where}` checks it")


def _row(each: Status) -> list[str]:
    learning = each.learning
    return [
        each.name,
        each.state,
        each.health or "-",
        "-" if each.cpu is None else f"{each.cpu:.2f}",
        "-" if each.memory is None else f"{each.memory / 1e6:.0f}",
        _number(learning.get("round"), 0),
        _number(learning.get("regret"), 2),
        _number(learning.get("outstanding"), 0),
    ]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
