"""Table 2 and Figure 4: ours beside the paper's, and what the paper says of them put to the test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.experiments import batch, distributed, plots, report
from edgefw.experiments.distributed import AGENTS, Case, Runs
from edgefw.experiments.published import GRAPHS, TABLE_2, TABLE_2_CHANGE, TOLERANCE_2, TOLERANCE_2_LATE
from edgefw.experiments.report import Verdict, signed
from edgefw.experiments.size import Size, with_data
from edgefw.experiments.stats import Spread, percent, spread, symmetric_percent

if TYPE_CHECKING:
    from pathlib import Path

MOST_OF_BLIND = 90  # percent of the loss without feedback that is left where all feedback is late

Means = Mapping[Case, Spread]


def table2(size: Size, out: Path, jobs: int | None) -> None:
    """Run every reading of "f delayed agents"; print the table, test the claims, draw the figure."""
    _reproduce("table2", list(distributed.READINGS), size, out, jobs)


def figure4(size: Size, out: Path, jobs: int | None) -> None:
    """Run the published reading alone: total loss against f."""
    _reproduce("figure4", ["replacement"], size, out, jobs)


def _reproduce(name: str, readings: list[str], size: Size, out: Path, jobs: int | None) -> None:
    size = with_data(size, "fashion-mnist")
    runs = distributed.play(list(distributed.cases(quick=size.quick, readings=readings)), size, jobs)
    means = batch.means(runs)
    for reading in readings:
        print_table(reading, means, runs, size)
    rows = [distributed.row(*key, run) for key, run in runs.items()]
    said = verdicts(means) if size.compares else []
    report.conclude(out / f"{name}.csv", rows, draw(runs, size, out), said)


def print_table(reading: str, means: Means, runs: Runs, size: Size) -> None:
    """Print one reading of the table, a row a graph and f."""
    chosen = [case for case in means if case.reading == reading]
    title = f"Total loss, mean ± sd over {size.over_seeds}; late: {distributed.READINGS[reading]}"
    header = ["graph", "f", "ours", "sym. %", "plain"] + (
        ["paper", "sym. %", "off, %"] if size.compares else []
    )
    terminal.table(title, header, [_cells(case, means, compares=size.compares) for case in chosen])
    _explain(chosen, runs)


def _explain(chosen: list[Case], runs: Runs) -> None:
    """Say what the columns are, and how many agents were late in truth."""
    late = {
        case.f: spread([distributed.late_agents(run) for (played, _), run in runs.items() if played == case])
        for case in chosen
        if case.f
    }
    agents = ", ".join(f"{found.mean:.3g} for f = {f}" for f, found in late.items())
    terminal.out.print(
        "Change against f = 0: sym. is the paper's 200 (a - a0)/(a + a0), plain is 100 (a - a0)/a0. "
        f"Different agents late, on average: {agents}."
    )


def _cells(case: Case, means: Means, *, compares: bool) -> list[str]:
    ours, free = means[case].mean, means[_free(case.graph)].mean
    changes = [signed(symmetric_percent(ours, free)), signed(percent(ours, free))] if case.f else ["-", "-"]
    cells = [GRAPHS[case.graph], str(case.f), str(means[case]), *changes]
    return cells + _paper_cells(case, means[case]) if compares else cells


def _paper_cells(case: Case, ours: Spread) -> list[str]:
    paper = TABLE_2[case.graph].get(case.f)
    if paper is None:
        return ["-", "-", "-"]
    change = TABLE_2_CHANGE[case.graph].get(case.f)
    return [f"{paper:.2f}", "-" if change is None else f"{change:+g}", signed(percent(ours.mean, paper))]


def _free(graph: str) -> Case:
    return Case(graph, "replacement", 0)


def verdicts(means: Means) -> list[Verdict]:
    """Return whether the paper's numbers and what it says of them were met."""
    counts = sorted({case.f for case in means if case.reading == "replacement"})
    near = [_near(f, means) for f in counts]
    heard = [_heard(means)] if Case("cycle", "none", AGENTS) in means else []
    return [*near, _ordered(means, counts), _suffering(means, counts[-1]), *heard]


def _near(f: int, means: Means) -> Verdict:
    """Return whether all graphs come near the paper's numbers at an f."""
    off = {graph: percent(means[Case(graph, "replacement", f)].mean, TABLE_2[graph][f]) for graph in GRAPHS}
    allowed = {graph: TOLERANCE_2_LATE if f else TOLERANCE_2[graph] for graph in GRAPHS}
    most = f"{max(abs(value) for value in off.values()):.1f} %"
    evidence = f"at most {most} off: " + ", ".join(f"{GRAPHS[g]} {signed(v)} %" for g, v in off.items())
    within = f"{TOLERANCE_2_LATE:g} %" if f else "2 % (Erdos-Renyi 4 %)"
    holds = all(abs(off[graph]) <= allowed[graph] for graph in GRAPHS)
    return Verdict(f"f = {f}: every graph within {within} of the paper", holds, evidence)


def _heard(means: Means) -> Verdict:
    """Return whether late feedback is used. f = 20 hardly shows it: half of the agents are on time."""
    left = {
        graph: 100 * means[Case(graph, "all", AGENTS)].mean / means[Case(graph, "none", AGENTS)].mean
        for graph in GRAPHS
    }
    evidence = ", ".join(f"{GRAPHS[graph]} {value:.0f} %" for graph, value in left.items())
    claim = f"all agents late: loss at most {MOST_OF_BLIND} % of that without feedback"
    return Verdict(claim, max(left.values()) <= MOST_OF_BLIND, evidence)


def _ordered(means: Means, counts: list[int]) -> Verdict:
    """Return whether the better connected network has the smaller loss."""
    rows = [
        [means[Case(graph, "replacement", f)].mean for graph in ("complete", "grid", "cycle")] for f in counts
    ]
    evidence = "; ".join(
        f"f = {f}: " + " < ".join(f"{v:.0f}" for v in row) for f, row in zip(counts, rows, strict=True)
    )
    return Verdict("Complete < Grid < Cycle at every f", all(a < b < c for a, b, c in rows), evidence)


def _suffering(means: Means, f: int) -> Verdict:
    """Return whether delay hurts Cycle most and Complete least."""
    change = {
        graph: percent(means[Case(graph, "replacement", f)].mean, means[_free(graph)].mean)
        for graph in GRAPHS
    }
    worst, best = max(change, key=change.__getitem__), min(change, key=change.__getitem__)
    evidence = ", ".join(f"{GRAPHS[graph]} {signed(value)} %" for graph, value in change.items())
    claim = f"at f = {f} Cycle suffers most and Complete least"
    return Verdict(claim, (worst, best) == ("cycle", "complete"), evidence)


def draw(runs: Runs, size: Size, out: Path) -> list[Path]:
    """Draw Figure 4: total loss against f, graph by graph, and the paper's where it can be compared."""
    lines = [_line(graph, runs, colour) for colour, graph in enumerate(GRAPHS)]
    if size.compares:
        lines += [_paper_line(graph, colour) for colour, graph in enumerate(GRAPHS)]
    panel = plots.Panel(
        f"De2MFW, T = {size.horizon}, delay {distributed.lateness(size)}",
        "f, agents drawn to be late (with replacement)",
        "total loss (nats)",
        lines,
    )
    note = f"mean and range over {size.over_seeds}" + (
        "; dotted: the paper's Table 2" if size.compares else ""
    )
    return plots.save([panel], out / "figure4", note=note)


def _line(graph: str, runs: Runs, colour: int) -> plots.Line:
    published = dict.fromkeys(
        case for case, _ in runs if case.graph == graph and case.reading == "replacement"
    )
    points = [(float(case.f), batch.losses(runs, case)) for case in published]
    return plots.line(GRAPHS[graph], points, colour)


def _paper_line(graph: str, colour: int) -> plots.Line:
    points = [(float(f), [value]) for f, value in TABLE_2[graph].items()]
    return plots.line(f"{GRAPHS[graph]}, paper", points, colour, hollow=True)
