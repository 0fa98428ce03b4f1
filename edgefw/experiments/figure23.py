"""Figures 2 and 3: losses of the centralized algorithms, over rounds and against the largest delay d."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.experiments import batch, centralized, plots, report
from edgefw.experiments.centralized import NAMES, Case, Runs
from edgefw.experiments.published import CENTRALIZED, MAX_DELAYS, TOLERANCE_CENTRALIZED
from edgefw.experiments.report import Verdict, signed
from edgefw.experiments.size import Size, with_data
from edgefw.experiments.stats import Spread, percent, spread

if TYPE_CHECKING:
    from pathlib import Path

PANELS, QUICK_PANELS = (1, 21, 101), (1, 5, 21)
QUICK_MAX_DELAYS = (1, 5, 9, 21)
RIVALS = ("dofw", "bold-mfw")  # the projection-free algorithms that the paper compares DeLMFW with

Best = Mapping[tuple[str, int], Case]
Means = Mapping[tuple[str, int], Spread]


def figure2(size: Size, out: Path, jobs: int | None) -> None:
    """Draw the cumulative loss over rounds, without delay, with short and with long ones."""
    size = with_data(size, "mnist")
    runs = centralized.play(QUICK_PANELS if size.quick else PANELS, size, jobs)
    _finish("figure2", runs, size, out, draw_rounds(runs, size, out))


def figure3(size: Size, out: Path, jobs: int | None) -> None:
    """Draw the total loss against d."""
    size = with_data(size, "mnist")
    runs = centralized.play(QUICK_MAX_DELAYS if size.quick else MAX_DELAYS, size, jobs)
    _finish("figure3", runs, size, out, draw_delays(runs, size, out))


def _finish(name: str, runs: Runs, size: Size, out: Path, drawn: list[Path]) -> None:
    best = centralized.chosen(runs)
    means = {key: spread(centralized.losses(runs, case)) for key, case in best.items()}
    print_table(best, means, size)
    rows = [centralized.row(*key, outcome) for key, outcome in runs.items()]
    written = [report.write_rows(out / f"{name}.csv", rows), *drawn]
    written += report.conclude(verdicts(means) if size.compares else [], out)
    report.say_where(written)


def print_table(best: Best, means: Means, size: Size) -> None:
    """Print the total losses, a row an algorithm and d."""
    header = ["d", "algorithm", "rate", "total loss"] + (
        ["reference", "ours - reference, %"] if size.compares else []
    )
    rows = [_cells(best[key], means[key], compares=size.compares) for key in sorted(best, key=_by_delay)]
    terminal.table(
        f"Total loss, mean ± sd over {size.over_seeds}; delays uniform on ceil(0.1 d)..d", header, rows
    )
    terminal.out.print(
        f"rate: 1/sqrt(d T); DGD's is the best of {_grid(size)}, and DGD projects where the others do not."
    )
    if size.compares:
        terminal.out.print(
            "reference: an independent run of the published settings; the paper prints curves only."
        )
    _warn_of_edges(best, size)


def _cells(case: Case, ours: Spread, *, compares: bool) -> list[str]:
    cells = [str(case.d), NAMES[case.algorithm], f"{case.rate:.4f}", str(ours)]
    if not compares:
        return cells
    reference = CENTRALIZED.get(case.algorithm, {}).get(case.d)
    return [
        *cells,
        *(["-", "-"] if reference is None else [f"{reference:g}", signed(percent(ours.mean, reference))]),
    ]


def _by_delay(key: tuple[str, int]) -> tuple[int, int]:
    return key[1], list(NAMES).index(key[0])


def _grid(size: Size) -> str:
    rates = centralized.QUICK_RATES if size.quick else centralized.RATES
    return f"{len(rates)} from {rates[0]:.2g} to {rates[-1]:.2g}"


def _warn_of_edges(best: Best, size: Size) -> None:
    """Say so where DGD's best rate is an end of the grid: a better one may lie beyond."""
    rates = centralized.QUICK_RATES if size.quick else centralized.RATES
    at_edge = [
        d
        for (algorithm, d), case in best.items()
        if algorithm == "dgd" and case.rate in (rates[0], rates[-1])
    ]
    if at_edge:
        terminal.out.print(
            f"DGD's best rate is at the edge of the grid for d = {', '.join(map(str, at_edge))}."
        )


def verdicts(means: Means) -> list[Verdict]:
    """Return whether the reference totals and the paper's claims were met."""
    late = sorted({d for _, d in means if d > 1})
    near = [_near(algorithm, means) for algorithm in CENTRALIZED]
    return [*near, _below(means, late), *(_growing(rival, means, late) for rival in RIVALS)]


def _near(algorithm: str, means: Means) -> Verdict:
    off = {
        d: percent(means[algorithm, d].mean, reference)
        for d, reference in CENTRALIZED[algorithm].items()
        if (algorithm, d) in means
    }
    holds = all(abs(value) <= TOLERANCE_CENTRALIZED for value in off.values())
    evidence = ", ".join(f"d = {d}: {signed(value)} %" for d, value in off.items())
    return Verdict(f"{NAMES[algorithm]} within {TOLERANCE_CENTRALIZED:g} % of the reference", holds, evidence)


def _below(means: Means, late: Sequence[int]) -> Verdict:
    least = {d: min(means[rival, d].mean for rival in RIVALS) - means["delmfw", d].mean for d in late}
    evidence = "below the better one by " + ", ".join(
        f"{margin:.0f} (d = {d})" for d, margin in least.items()
    )
    return Verdict(
        "DeLMFW below DOFW and BOLD-MFW at every d > 1", all(v > 0 for v in least.values()), evidence
    )


def _growing(rival: str, means: Means, late: Sequence[int]) -> Verdict:
    margins = [means[rival, d].mean - means["delmfw", d].mean for d in late]
    holds = all(a < b for a, b in itertools.pairwise(margins))
    evidence = ", ".join(f"{margin:.0f} (d = {d})" for d, margin in zip(late, margins, strict=True))
    return Verdict(f"the margin over {NAMES[rival]} grows with d", holds, evidence)


def draw_rounds(runs: Runs, size: Size, out: Path) -> list[Path]:
    """Draw Figure 2: one panel a d."""
    best = centralized.chosen(runs)
    panels = [_panel(d, best, runs) for d in sorted({d for _, d in best})]
    return plots.save(panels, out / "figure2", note=_note(size), share_y=True)


def _panel(d: int, best: Best, runs: Runs) -> plots.Panel:
    lines = []
    for colour, (algorithm, label) in enumerate(NAMES.items()):
        values = np.array([batch.running_loss(o) for o in centralized.outcomes(runs, best[algorithm, d])])
        x = np.arange(1, values.shape[1] + 1, dtype=np.float64)
        lines.append(plots.Line(label, x, values, colour, dashed=algorithm == "bold-mfw"))
    title = "no delay (d = 1)" if d == 1 else f"delays up to d = {d}"
    return plots.Panel(title, "round t", "cumulative loss (nats)" if d == 1 else "", lines, from_zero=True)


def draw_delays(runs: Runs, size: Size, out: Path) -> list[Path]:
    """Draw Figure 3."""
    best = centralized.chosen(runs)
    delays = sorted({d for _, d in best})
    lines = [
        plots.line(
            label,
            [(float(d), centralized.losses(runs, best[algorithm, d])) for d in delays],
            colour,
            dashed=algorithm == "bold-mfw",
        )
        for colour, (algorithm, label) in enumerate(NAMES.items())
    ]
    title, x_label = f"T = {size.horizon}", "d, the largest delay (rounds)"
    panel = plots.Panel(title, x_label, f"total loss over {size.horizon} rounds (nats)", lines)
    return plots.save([panel], out / "figure3", note=_note(size))


def _note(size: Size) -> str:
    return f"mean and range over {size.over_seeds}; DGD at the best rate of a grid for every d"
