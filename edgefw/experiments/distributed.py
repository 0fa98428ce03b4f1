"""The distributed experiment (Table 2, Figure 4): De2MFW on four graphs, some agents 501 rounds late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.delays.book import total_delay
from edgefw.experiments import batch
from edgefw.experiments.published import DELAYED, GRAPHS, LATE
from edgefw.experiments.runner import Outcome
from edgefw.scenario.plan import delay_plan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgefw.experiments.report import Cell
    from edgefw.experiments.size import Size
    from edgefw.scenario.model import Scenario

AGENTS = 30
QUICK_DELAYED = (0, 5, 20)
READINGS: Mapping[str, str] = {
    "replacement": "f draws with replacement (the published runs)",
    "distinct": "f distinct agents (the paper's text)",
    "all": "all agents",
    "none": "no feedback ever comes",
}
EVERYBODY = ("all", "none")  # the readings that are about all agents


@dataclass(frozen=True)
class Case:
    """A cell of the table: a graph, how the delayed agents were chosen, and how many were asked for."""

    graph: str
    reading: str
    f: int


Runs = Mapping[tuple[Case, int], Outcome]  # by case and seed


def cases(*, quick: bool, readings: Sequence[str]) -> Iterator[Case]:
    """Yield the cells of the table, graph by graph; f = 0 belongs to the first reading alone."""
    for graph in GRAPHS:
        for reading in readings:
            for f in _counts(reading, quick=quick):
                yield Case(graph, reading, f)


def _counts(reading: str, *, quick: bool) -> tuple[int, ...]:
    if reading in EVERYBODY:
        return (AGENTS,)
    if reading == "replacement":
        return QUICK_DELAYED if quick else DELAYED
    return QUICK_DELAYED[-1:] if quick else DELAYED[1:]  # f = 0 is the same in every reading


def scenario(case: Case, size: Size, seed: int) -> Scenario:
    """Return the published scenario with the case's graph and delays, at most half of the horizon."""
    return size.scenario(
        "paper-distributed",
        seed,
        [
            f"network.topology={case.graph}",
            *(["network.p=0.3"] if case.graph == "erdos_renyi" else []),
            f"delays={_delays(case, lateness(size))}",
        ],
    )


def lateness(size: Size) -> int:
    """Return the delay of a late agent: 501 of 1000 rounds, and in a short run as large a part."""
    return min(LATE, size.horizon // 2 + 1)


def _delays(case: Case, late: int) -> str:
    if not case.f:
        return "[]"
    if case.reading == "none":
        return "[{type: drop}]"
    drawn = f"{{draw: {case.f}, replacement: {str(case.reading == 'replacement').lower()}}}"
    agents = "all" if case.reading == "all" else drawn
    return f"[{{agents: {agents}, type: rounds, rounds: {late}}}]"


def play(wanted: Sequence[Case], size: Size, jobs: int | None) -> Runs:
    """Simulate every case with every seed."""
    return batch.play_cases("De2MFW on four graphs", wanted, scenario, size, jobs)


def late_agents(outcome: Outcome) -> int:
    """Return how many different agents were late."""
    return int((_table(outcome) > 1).any(axis=1).sum())


def row(case: Case, seed: int, outcome: Outcome) -> dict[str, Cell]:
    """Return a run as a row of the CSV file."""
    return {
        "graph": case.graph,
        "reading": case.reading,
        "f": case.f,
        "late_agents": late_agents(outcome),
        "total_delay": float(total_delay(_table(outcome)).mean()),
        "seed": seed,
        "rounds": outcome.scenario.algorithm.rounds,
        "total_loss": batch.loss(outcome),
        "worst_agent_loss": batch.worst_cumulative(outcome),
        "seconds": round(outcome.wall_seconds, 2),
        "digest": outcome.scenario.digest,
    }


def _table(outcome: Outcome) -> NDArray[np.int64]:
    """Return the delays of a run, (n, rounds)."""
    return delay_plan(outcome.scenario).table()
