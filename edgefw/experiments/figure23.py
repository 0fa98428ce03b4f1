"""Figures 2 and 3: losses of the centralized algorithms, over rounds and against the largest delay d."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.experiments import batch, centralized, plots, report
from edgefw.experiments.centralized import NAMES, Case, Chosen, Runs
from edgefw.experiments.published import CENTRALIZED, MAX_DELAYS, TOLERANCE_CENTRALIZED
from edgefw.experiments.report import Verdict, signed
from edgefw.experiments.size import Size, with_data
from edgefw.experiments.stats import Spread, percent, spread

if TYPE_CHECKING:
    from pathlib import Path

PANELS, QUICK_PANELS = (1, 21, 101), (1, 5, 21)
QUICK_MAX_DELAYS = (1, 5, 9, 21)
RIVALS = ("dofw", "bold-mfw")  # the projection-free algorithms that the paper compares DeLMFW with

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
    fixed, best = centralized.at_published(runs, size), centralized.tuned(runs)
    print_table(fixed, best, runs, size)
    _warn_of_edges(best, size)
    rows = [centralized.row(*key, outcome) for key, outcome in runs.items()]
    said = verdicts(means(fixed, runs), means(best, runs)) if size.compares else []
    report.conclude(out / f"{name}.csv", rows, drawn, said)


def means(cases: Chosen, runs: Runs) -> dict[tuple[str, int], Spread]:
    """Return the total losses of some cases over their seeds."""
    return {key: spread(batch.losses(runs, case)) for key, case in cases.items()}


def print_table(fixed: Chosen, best: Chosen, runs: Runs, size: Size) -> None:
    """Print the total losses, a row an algorithm and d: at the published rate, and at the best."""
    header = ["d", "algorithm", "rate", "total loss", "best rate", "total loss"]
    at_fixed, at_best = means(fixed, runs), means(best, runs)
    rows = [
        _cells(fixed[key], at_fixed[key], best[key], at_best[key]) for key in sorted(fixed, key=_by_delay)
    ]
    title = f"Total loss, mean ± sd over {size.over_seeds}; delays uniform on ceil(0.1 d)..d"
    terminal.table(title, header, rows)
    rates = centralized.grid(size)
    terminal.out.print(
        "rate: 1/sqrt(d T), that of the published runs; best rate: by the mean loss over seeds, of it and "
        f"{len(rates)} from {rates[0]:.2g} to {rates[-1]:.2g}. DGD projects where the others do not."
    )


def _cells(fixed: Case, at_fixed: Spread, best: Case, at_best: Spread) -> list[str]:
    name = NAMES[fixed.algorithm]
    return [str(fixed.d), name, f"{fixed.rate:.4f}", str(at_fixed), f"{best.rate:.4f}", str(at_best)]


def _by_delay(key: tuple[str, int]) -> tuple[int, int]:
    return key[1], list(NAMES).index(key[0])


def _warn_of_edges(best: Chosen, size: Size) -> None:
    """Say so where a best rate is an end of the grid: a better one may lie beyond."""
    rates = centralized.grid(size)
    at_edge = [
        f"{NAMES[case.algorithm]} (d = {case.d})"
        for _, case in sorted(best.items(), key=lambda item: _by_delay(item[0]))
        if case.rate in (rates[0], rates[-1])
    ]
    if at_edge:
        terminal.out.print(f"The best rate is at the edge of the grid: {', '.join(at_edge)}.")


def verdicts(fixed: Means, best: Means) -> list[Verdict]:
    """Return whether the reference totals and the paper's claims were met, by total losses at both rates."""
    late = sorted({d for _, d in fixed if d > 1})
    near = [_near(algorithm, fixed) for algorithm in CENTRALIZED]
    below = [_below("at the published rate", rival, fixed, late) for rival in RIVALS]
    growing = [_growing(rival, fixed, late) for rival in RIVALS]
    at_best = [_below("every rate tuned", rival, best, late) for rival in (*RIVALS, "dgd")]
    return [*near, *below, *growing, *at_best]


def _near(algorithm: str, means: Means) -> Verdict:
    off = {
        d: percent(means[algorithm, d].mean, reference)
        for d, reference in CENTRALIZED[algorithm].items()
        if (algorithm, d) in means
    }
    holds = all(abs(value) <= TOLERANCE_CENTRALIZED for value in off.values())
    evidence = ", ".join(f"d = {d}: {signed(value)} %" for d, value in off.items())
    claim = (
        f"{NAMES[algorithm]} within {TOLERANCE_CENTRALIZED:g} % of an independent run (the paper has curves)"
    )
    return Verdict(claim, holds, evidence)


def _margins(rival: str, means: Means, late: Sequence[int]) -> list[float]:
    """Return by how much DeLMFW's loss is below a rival's, d by d."""
    return [means[rival, d].mean - means["delmfw", d].mean for d in late]


def _below(rates: str, rival: str, means: Means, late: Sequence[int]) -> Verdict:
    margins = _margins(rival, means, late)
    claim = f"{rates} DeLMFW is below {NAMES[rival]} at every d > 1"
    return Verdict(claim, min(margins) > 0, _by_d("by", margins, late))


def _growing(rival: str, means: Means, late: Sequence[int]) -> Verdict:
    """Return whether a margin grows; one that is not there has not grown."""
    margins = _margins(rival, means, late)
    holds = min(margins) > 0 and all(a < b for a, b in itertools.pairwise(margins))
    return Verdict(f"its margin over {NAMES[rival]} grows with d", holds, _by_d("margins", margins, late))


def _by_d(word: str, values: Sequence[float], late: Sequence[int]) -> str:
    return f"{word} " + ", ".join(f"{value:.0f} (d = {d})" for d, value in zip(late, values, strict=True))


def draw_rounds(runs: Runs, size: Size, out: Path) -> list[Path]:
    """Draw Figure 2: one panel a d. DGD, which has no published rate, is drawn at its best."""
    best = {key: case for key, case in centralized.tuned(runs).items() if case.algorithm == "dgd"}
    drawn = centralized.at_published(runs, size) | best
    panels = [_panel(d, drawn, runs) for d in sorted({d for _, d in drawn})]
    note = f"rates 1/sqrt(d T), DGD's the best of a grid; mean and range over {size.over_seeds}"
    return plots.save(panels, out / "figure2", note=note, share_y=True)


def _panel(d: int, drawn: Chosen, runs: Runs) -> plots.Panel:
    lines = []
    for colour, (algorithm, label) in enumerate(NAMES.items()):
        values = np.array([batch.running_loss(o) for o in batch.outcomes(runs, drawn[algorithm, d])])
        x = np.arange(1, values.shape[1] + 1, dtype=np.float64)
        lines.append(plots.Line(label, x, values, colour, dashed=algorithm == "bold-mfw"))
    title = "no delay (d = 1)" if d == 1 else f"delays up to d = {d}"
    return plots.Panel(title, "round t", "cumulative loss (nats)" if d == 1 else "", lines, from_zero=True)


def draw_delays(runs: Runs, size: Size, out: Path) -> list[Path]:
    """Draw Figure 3: at the published rate, and with every rate tuned."""
    y_label = f"total loss over {size.horizon} rounds (nats)"
    x_label = "d, the largest delay (rounds)"
    readings = {
        "rate 1/sqrt(d T)": centralized.at_published(runs, size),
        "every rate tuned": centralized.tuned(runs),
    }
    panels = [
        plots.Panel(title, x_label, y_label, _delay_lines(cases, runs)) for title, cases in readings.items()
    ]
    note = f"T = {size.horizon}; mean and range over {size.over_seeds}"
    return plots.save(panels, out / "figure3", note=note, share_y=True)


def _delay_lines(cases: Chosen, runs: Runs) -> list[plots.Line]:
    delays = sorted({d for _, d in cases})
    return [
        plots.line(
            label,
            [(float(d), batch.losses(runs, cases[algorithm, d])) for d in delays],
            colour,
            dashed=algorithm == "bold-mfw",
        )
        for colour, (algorithm, label) in enumerate(NAMES.items())
    ]
