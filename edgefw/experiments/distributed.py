"""Table 2 and Figure 4: De2MFW on four graphs, some agents 501 rounds late; ours beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

from edgefw.delays.book import total_delay
from edgefw.experiments import experiment, plots
from edgefw.experiments.experiment import Claim, Experiment, Findings, judged, losses, signed
from edgefw.experiments.published import (
    DELAYED,
    GRAPHS,
    HORIZON,
    LATE,
    TOLERANCE_2,
    TOLERANCE_2_LATE,
    TOTALS_2,
    TOTALS_2_CHANGE,
)
from edgefw.experiments.stats import Spread, percent, spread, symmetric_percent
from edgefw.experiments.tables import Table
from edgefw.scenario.plan import delay_plan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgefw.experiments.runner import Outcome
    from edgefw.experiments.size import Size
    from edgefw.scenario.model import Scenario

AGENTS = 30
MOST_OF_BLIND = 90  # percent of the loss without feedback that is left where all feedback is late
QUICK_DELAYED = (0, 5, 20)
READINGS: Mapping[str, str] = {
    "replacement": "f draws with replacement (the published runs)",
    "distinct": "f distinct agents (the paper's text)",
    "all": "all agents",
    "none": "no feedback ever comes",
}
EVERYBODY = ("all", "none")  # the readings that are about all agents


@dataclass(frozen=True)
class Cell:
    """A cell of the table: a graph, how the delayed agents were chosen, and how many were asked for."""

    graph: str
    reading: str
    f: int


Cells = experiment.Runs[Cell]
Means = Mapping[Cell, Spread]


def cells(readings: Sequence[str], size: Size) -> Iterator[Cell]:
    """Yield the cells of the table, graph by graph; f = 0 belongs to the first reading alone."""
    for graph in GRAPHS:
        for reading in readings:
            for f in _counts(reading, quick=size.quick):
                yield Cell(graph, reading, f)


def _counts(reading: str, *, quick: bool) -> tuple[int, ...]:
    if reading in EVERYBODY:
        return (AGENTS,)
    if reading == "replacement":
        return QUICK_DELAYED if quick else DELAYED
    return QUICK_DELAYED[-1:] if quick else DELAYED[1:]  # f = 0 is the same in every reading


def scenario(cell: Cell, size: Size, seed: int) -> Scenario:
    """Return the published scenario with the cell's graph and delays, at most half of the horizon."""
    return size.scenario(
        "paper-distributed",
        seed,
        [
            f"network.topology={cell.graph}",
            *(["network.p=0.3"] if cell.graph == "erdos_renyi" else []),
            f"delays={_delays(cell, lateness(size))}",
        ],
    )


def lateness(size: Size) -> int:
    """Return the delay of a late agent: 501 of 1000 rounds, and in a short run as large a part."""
    return min(LATE, size.horizon // 2 + 1)


def _delays(cell: Cell, late: int) -> str:
    if not cell.f:
        return "[]"
    if cell.reading == "none":
        return "[{type: drop}]"
    drawn = f"{{draw: {cell.f}, replacement: {str(cell.reading == 'replacement').lower()}}}"
    agents = "all" if cell.reading == "all" else drawn
    return f"[{{agents: {agents}, type: rounds, rounds: {late}}}]"


def report(runs: Cells, size: Size) -> Findings:
    """Return a table for every reading, Figure 4, and the published one held against what the paper says."""
    means = experiment.means(runs)
    tables = [table(reading, means, runs, size) for reading in dict.fromkeys(cell.reading for cell in runs)]
    return Findings(experiment.rows_of(runs, row), draw(runs, size), judged(claims(means), size), tables)


def row(cell: Cell, outcome: Outcome) -> experiment.Row:
    """Return a run as a row of the CSV file."""
    return asdict(cell) | {
        "late_agents": late_agents(outcome),
        "total_delay": float(total_delay(_table(outcome)).mean()),
        "seed": outcome.scenario.seed,
        "rounds": outcome.scenario.algorithm.rounds,
        "total_loss": losses([outcome])[0],
        "worst_agent_loss": experiment.worst_cumulative(outcome),
        "seconds": round(outcome.wall_seconds, 2),
        "digest": outcome.scenario.digest,
    }


def late_agents(outcome: Outcome) -> int:
    """Return how many different agents were late."""
    return int((_table(outcome) > 1).any(axis=1).sum())


def _table(outcome: Outcome) -> NDArray[np.int64]:
    """Return the delays of a run, (n, rounds)."""
    return delay_plan(outcome.scenario).table()


def table(reading: str, means: Means, runs: Cells, size: Size) -> Table:
    """Return one reading of the table, a row a graph and f, ours beside the paper's."""
    chosen = [cell for cell in means if cell.reading == reading]
    title = f"Total loss, mean ± sd over {size.over_seeds}; late: {READINGS[reading]}"
    paper = ["paper", "sym. %", "off, %"] if size.compares else [f"paper, T = {HORIZON}", "sym. %"]
    header = ["graph", "f", "ours", "sym. %", "plain", *paper]
    rows = [_cells(cell, means, compares=size.compares) for cell in chosen]
    return Table(title, header, rows, _explained(chosen, runs))


def _explained(chosen: list[Cell], runs: Cells) -> str:
    """Say what the columns are, and how many agents were late in truth."""
    late = {cell.f: spread([late_agents(outcome) for outcome in runs[cell]]) for cell in chosen if cell.f}
    agents = ", ".join(f"{found.mean:.3g} for f = {f}" for f, found in late.items())
    return (
        "Change against f = 0: sym. is the paper's 200 (a - a0)/(a + a0), plain is 100 (a - a0)/a0. "
        f"Different agents late, on average: {agents}."
    )


def _cells(cell: Cell, means: Means, *, compares: bool) -> list[str]:
    ours, free = means[cell].mean, means[_free(cell.graph)].mean
    changes = [signed(symmetric_percent(ours, free)), signed(percent(ours, free))] if cell.f else ["-", "-"]
    paper = _paper_cells(cell, means[cell])
    cells = [GRAPHS[cell.graph], str(cell.f), str(means[cell]), *changes]
    return cells + (paper if compares else paper[:-1])


def _paper_cells(cell: Cell, ours: Spread) -> list[str]:
    paper = TOTALS_2[cell.graph].get(cell.f)
    if paper is None:
        return ["-", "-", "-"]
    change = TOTALS_2_CHANGE[cell.graph].get(cell.f)
    return [f"{paper:.2f}", "-" if change is None else f"{change:+g}", signed(percent(ours.mean, paper))]


def _free(graph: str) -> Cell:
    return Cell(graph, "replacement", 0)


def claims(means: Means) -> list[Claim]:
    """Return whether the paper's numbers and what it says of them were met."""
    counts = sorted({cell.f for cell in means if cell.reading == "replacement"})
    near = [_near(f, means) for f in counts]
    heard = [_heard(means)] if Cell("cycle", "none", AGENTS) in means else []
    return [*near, _ordered(means, counts), _suffering(means, counts[-1]), *heard]


def _near(f: int, means: Means) -> Claim:
    """Return whether all graphs come near the paper's numbers at an f."""
    off = {graph: percent(means[Cell(graph, "replacement", f)].mean, TOTALS_2[graph][f]) for graph in GRAPHS}
    allowed = {graph: TOLERANCE_2_LATE if f else TOLERANCE_2[graph] for graph in GRAPHS}
    most = f"{max(abs(value) for value in off.values()):.1f} %"
    evidence = f"at most {most} off: " + ", ".join(f"{GRAPHS[g]} {signed(v)} %" for g, v in off.items())
    within = f"{TOLERANCE_2_LATE:g} %" if f else "2 % (Erdos-Renyi 4 %)"
    holds = all(abs(off[graph]) <= allowed[graph] for graph in GRAPHS)
    return Claim(f"f = {f}: every graph within {within} of the paper", holds, evidence)


def _heard(means: Means) -> Claim:
    """Return whether late feedback is used. f = 20 hardly shows it: half of the agents are on time."""
    left = {
        graph: 100 * means[Cell(graph, "all", AGENTS)].mean / means[Cell(graph, "none", AGENTS)].mean
        for graph in GRAPHS
    }
    evidence = ", ".join(f"{GRAPHS[graph]} {value:.0f} %" for graph, value in left.items())
    claim = f"all agents late: loss at most {MOST_OF_BLIND} % of that without feedback"
    return Claim(claim, max(left.values()) <= MOST_OF_BLIND, evidence)


def _ordered(means: Means, counts: list[int]) -> Claim:
    """Return whether the better connected network has the smaller loss."""
    rows = [
        [means[Cell(graph, "replacement", f)].mean for graph in ("complete", "grid", "cycle")] for f in counts
    ]
    evidence = "; ".join(
        f"f = {f}: " + " < ".join(f"{v:.0f}" for v in row) for f, row in zip(counts, rows, strict=True)
    )
    return Claim("Complete < Grid < Cycle at every f", all(a < b < c for a, b, c in rows), evidence)


def _suffering(means: Means, f: int) -> Claim:
    """Return whether delay hurts Cycle most and Complete least."""
    change = {
        graph: percent(means[Cell(graph, "replacement", f)].mean, means[_free(graph)].mean)
        for graph in GRAPHS
    }
    worst, best = max(change, key=change.__getitem__), min(change, key=change.__getitem__)
    evidence = ", ".join(f"{GRAPHS[graph]} {signed(value)} %" for graph, value in change.items())
    claim = f"at f = {f} Cycle suffers most and Complete least"
    return Claim(claim, (worst, best) == ("cycle", "complete"), evidence)


def draw(runs: Cells, size: Size) -> plots.Drawing:
    """Draw Figure 4: total loss against f, graph by graph, and the paper's where it can be compared."""
    lines = [
        plots.line(
            name,
            [(c.f, losses(runs[c])) for c in runs if c.graph == graph and c.reading == "replacement"],
            colour,
        )
        for colour, (graph, name) in enumerate(GRAPHS.items())
    ]
    note = f"mean and range over {size.over_seeds}"
    if size.compares:
        for colour, (graph, name) in enumerate(GRAPHS.items()):
            points = [(f, [value]) for f, value in TOTALS_2[graph].items()]
            lines.append(plots.line(f"{name}, paper", points, colour, hollow=True))
        note += "; dotted: the paper's Table 2"
    panel = plots.Panel(
        f"De2MFW, T = {size.horizon}, delay {lateness(size)}",
        "f, agents drawn to be late (with replacement)",
        "total loss (nats)",
        lines,
    )
    return plots.Drawing("figure4", [panel], note)


def _experiment(*readings: str) -> Experiment[Cell]:
    chosen = partial(cells, readings)
    return Experiment("De2MFW on four graphs", ("fashion-mnist",), chosen, scenario, report)


TABLE_2 = _experiment(*READINGS)  # every reading of "f delayed agents"
FIGURE_4 = _experiment("replacement")  # the published one alone
