"""Figures 2 and 3: DeLMFW, DOFW, BOLD-MFW and DGD on MNIST, over rounds and against the largest delay d."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.core.schedule import experiment_rate
from edgefw.experiments import experiment, plots
from edgefw.experiments.experiment import Claim, Experiment, Findings, judged, losses, signed
from edgefw.experiments.published import CENTRALIZED, HORIZON, MAX_DELAYS, TOLERANCE_CENTRALIZED
from edgefw.experiments.stats import Spread, percent
from edgefw.experiments.tables import Table

if TYPE_CHECKING:
    from edgefw.experiments.runner import Outcome
    from edgefw.experiments.size import Size
    from edgefw.scenario.model import Scenario

NAMES: Mapping[str, str] = {"delmfw": "DeLMFW", "dofw": "DOFW", "bold-mfw": "BOLD-MFW", "dgd": "DGD"}
RIVALS = ("dofw", "bold-mfw")  # the projection-free algorithms that the paper compares DeLMFW with
PANELS, QUICK_PANELS = (1, 21, 101), (1, 5, 21)
QUICK_MAX_DELAYS = (1, 5, 9, 21)
RATES = tuple(10.0 ** (third / 3) for third in range(-9, 4))  # 0.001 to 10, three a decade
QUICK_RATES = RATES[::3]


@dataclass(frozen=True)
class Trial:
    """A point of a curve: an algorithm, the largest delay d, and its rate."""

    algorithm: str
    d: int
    rate: float


Trials = experiment.Runs[Trial]
Means = Mapping[tuple[str, int], Spread]


def grid(size: Size) -> tuple[float, ...]:
    """Return the rates among which every algorithm finds its own."""
    return QUICK_RATES if size.quick else RATES


def published(algorithm: str, d: int, size: Size) -> Trial:
    """Return an algorithm at zeta = 1/sqrt(d T), the rate of the published runs."""
    return Trial(algorithm, d, experiment_rate(size.horizon, d))


def trials(delays: Sequence[int], size: Size) -> list[Trial]:
    """Return what is to be run: every algorithm and d at the published rate and over the whole grid."""
    pairs = [(algorithm, d) for d in delays for algorithm in NAMES]
    fixed = [published(algorithm, d, size) for algorithm, d in pairs]
    return fixed + [Trial(algorithm, d, rate) for algorithm, d in pairs for rate in grid(size)]


def scenario(trial: Trial, size: Size, seed: int) -> Scenario:
    """Return the published scenario with the trial's algorithm and delays, uniform on ceil(0.1 d)..d.

    K is the integer part of sqrt(T): 31, as in the published runs.
    """
    return size.scenario(
        "paper-centralized",
        seed,
        [
            f"algorithm.name={trial.algorithm}",
            f"algorithm.rate={trial.rate!r}",
            f"algorithm.sub_iterations={math.isqrt(size.horizon)}",
            f"delays={uniform_delays(trial.d)}",
        ],
    )


def uniform_delays(d: int) -> str:
    """Return the fault that makes delays uniform on ceil(0.1 d)..d, for d with a whole middle.

    >>> uniform_delays(21)
    '[{type: rounds, rounds: 12, jitter: 9, distribution: uniform}]'
    """
    low = -(-d // 10)
    if d == low:
        return "[]"
    middle, rest = divmod(low + d, 2)
    if rest:
        raise ValueError(f"d = {d}: {low}..{d} has no whole middle")
    return f"[{{type: rounds, rounds: {middle}, jitter: {d - middle}, distribution: uniform}}]"


def at_published(runs: Trials, size: Size) -> dict[tuple[str, int], Trial]:
    """Return every algorithm and d at the published rate."""
    return {(trial.algorithm, trial.d): published(trial.algorithm, trial.d, size) for trial in runs}


def tuned(runs: Trials) -> dict[tuple[str, int], Trial]:
    """Return every algorithm and d at the rate, of all that were run, with the smallest mean loss."""
    means = experiment.means(runs)
    worst_first = sorted(means, key=lambda trial: means[trial].mean, reverse=True)
    return {(trial.algorithm, trial.d): trial for trial in worst_first}


def report(runs: Trials, size: Size, figure: plots.Drawing) -> Findings:
    """Return the total losses at the published rate and at the best, held against what the paper says."""
    fixed, best, means = at_published(runs, size), tuned(runs), experiment.means(runs)
    in_order = sorted(fixed, key=lambda key: (key[1], list(NAMES).index(key[0])))
    shown = table([(fixed[key], best[key]) for key in in_order], means, size)
    at_fixed, at_best = ({key: means[chosen[key]] for key in fixed} for chosen in (fixed, best))
    said = judged(claims(at_fixed, at_best), size)
    return Findings(experiment.rows_of(runs, _row), figure, said, [shown])


def _row(trial: Trial, outcome: Outcome) -> experiment.Row:
    return asdict(trial) | {
        "seed": outcome.scenario.seed,
        "rounds": outcome.scenario.algorithm.rounds,
        "total_loss": losses([outcome])[0],
        "seconds": round(outcome.wall_seconds, 2),
        "digest": outcome.scenario.digest,
    }


def table(pairs: Sequence[tuple[Trial, Trial]], means: Mapping[Trial, Spread], size: Size) -> Table:
    """Return the total losses at both rates, beside those that the paper's settings led others to."""
    header = ["d", "algorithm", "rate", "total loss", "best rate", "total loss", "independent run"]
    rows = [
        [str(fixed.d), NAMES[fixed.algorithm]]
        + [cell for trial in (fixed, best) for cell in (f"{trial.rate:.4f}", str(means[trial]))]
        + [terminal.number(CENTRALIZED.get(fixed.algorithm, {}).get(fixed.d), 0)]
        for fixed, best in pairs
    ]
    title = f"Total loss, mean ± sd over {size.over_seeds}; delays uniform on ceil(0.1 d)..d"
    rates = grid(size)
    note = (
        "rate: 1/sqrt(d T), that of the published runs; best rate: by the mean loss over seeds, of it and "
        f"{len(rates)} from {rates[0]:.2g} to {rates[-1]:.2g}. DGD projects where the others do not. "
        f"Independent run: the paper's settings, T = {HORIZON}, run by others; the paper has curves only."
    )
    return Table(title, header, rows, note + _edges([best for _, best in pairs], size))


def _edges(best: Sequence[Trial], size: Size) -> str:
    """Say so where a best rate is an end of the grid: a better one may lie beyond."""
    ends = (grid(size)[0], grid(size)[-1])
    at_edge = [f"{NAMES[trial.algorithm]} (d = {trial.d})" for trial in best if trial.rate in ends]
    return f" The best rate is at the edge of the grid: {', '.join(at_edge)}." if at_edge else ""


def claims(fixed: Means, best: Means) -> list[Claim]:
    """Return whether the reference totals and the paper's claims were met, by total losses at both rates."""
    late = sorted({d for _, d in fixed if d > 1})
    near = [_near(algorithm, fixed) for algorithm in CENTRALIZED]
    below = [_below("at the published rate", rival, fixed, late) for rival in RIVALS]
    growing = [_growing(rival, fixed, late) for rival in RIVALS]
    at_best = [_below("every rate tuned", rival, best, late) for rival in (*RIVALS, "dgd")]
    return [*near, *below, *growing, *at_best]


def _near(algorithm: str, means: Means) -> Claim:
    off = {
        d: percent(means[algorithm, d].mean, reference)
        for d, reference in CENTRALIZED[algorithm].items()
        if (algorithm, d) in means
    }
    holds = all(abs(value) <= TOLERANCE_CENTRALIZED for value in off.values())
    evidence = ", ".join(f"d = {d}: {signed(value)} %" for d, value in off.items())
    within = f"within {TOLERANCE_CENTRALIZED:g} % of an independent run (the paper has curves)"
    return Claim(f"{NAMES[algorithm]} {within}", holds, evidence)


def _margins(rival: str, means: Means, late: Sequence[int]) -> list[float]:
    """Return by how much DeLMFW's loss is below a rival's, d by d."""
    return [means[rival, d].mean - means["delmfw", d].mean for d in late]


def _below(rates: str, rival: str, means: Means, late: Sequence[int]) -> Claim:
    margins = _margins(rival, means, late)
    claim = f"{rates} DeLMFW is below {NAMES[rival]} at every d > 1"
    return Claim(claim, min(margins) > 0, _by_d("by", margins, late))


def _growing(rival: str, means: Means, late: Sequence[int]) -> Claim:
    """Return whether a margin grows; one that is not there has not grown."""
    margins = _margins(rival, means, late)
    holds = min(margins) > 0 and all(a < b for a, b in itertools.pairwise(margins))
    return Claim(f"its margin over {NAMES[rival]} grows with d", holds, _by_d("margins", margins, late))


def _by_d(word: str, values: Sequence[float], late: Sequence[int]) -> str:
    return f"{word} " + ", ".join(f"{value:.0f} (d = {d})" for d, value in zip(late, values, strict=True))


def draw_rounds(runs: Trials, size: Size) -> plots.Drawing:
    """Draw Figure 2: loss over rounds, a panel a d; DGD, which has no published rate, at its best."""
    best = {key: trial for key, trial in tuned(runs).items() if trial.algorithm == "dgd"}
    drawn = at_published(runs, size) | best
    panels = []
    for d in sorted({d for _, d in drawn}):
        at_d = {algorithm: [_running_loss(o) for o in runs[drawn[algorithm, d]]] for algorithm in NAMES}
        x = np.arange(1, len(at_d["dgd"][0]) + 1, dtype=np.float64)
        lines = _lines({algorithm: (x, np.array(values)) for algorithm, values in at_d.items()})
        title = "no delay (d = 1)" if d == 1 else f"delays up to d = {d}"
        y_label = "cumulative loss (nats)" if d == 1 else ""
        panels.append(plots.Panel(title, "round t", y_label, lines, from_zero=True))
    note = f"rates 1/sqrt(d T), DGD's the best of a grid; mean and range over {size.over_seeds}"
    return plots.Drawing("figure2", panels, note, share_y=True)


def draw_delays(runs: Trials, size: Size) -> plots.Drawing:
    """Draw Figure 3: total loss against d, at the published rate and with every rate tuned."""
    panels = []
    fixed = at_published(runs, size)
    readings = {"rate 1/sqrt(d T)": fixed, "every rate tuned": tuned(runs)}
    for title, chosen in readings.items():
        delays = sorted({d for _, d in chosen})
        x = np.array(delays, dtype=np.float64)
        lines = _lines({a: (x, np.array([losses(runs[chosen[a, d]]) for d in delays]).T) for a in NAMES})
        if chosen is fixed and size.compares:
            lines += _references()
        y_label = f"total loss over {size.horizon} rounds (nats)"
        panels.append(plots.Panel(title, "d, the largest delay (rounds)", y_label, lines))
    note = f"T = {size.horizon}; mean and range over {size.over_seeds}"
    note += "; hollow: the paper's settings, run independently" if size.compares else ""
    return plots.Drawing("figure3", panels, note, share_y=True)


def _references() -> list[plots.Line]:
    """Return the points that the paper's settings led others to, algorithm by algorithm."""
    return [
        plots.line(
            f"{NAMES[algorithm]}, independent",
            [(d, [total]) for d, total in totals.items()],
            list(NAMES).index(algorithm),
            hollow=True,
            loose=True,
        )
        for algorithm, totals in CENTRALIZED.items()
    ]


def _running_loss(outcome: Outcome) -> plots.Numbers:
    """Return the total loss up to every round, (rounds,)."""
    return np.asarray(outcome.trace.global_loss.max(axis=1).cumsum())


def _lines(curves: Mapping[str, tuple[plots.Numbers, plots.Numbers]]) -> list[plots.Line]:
    """Return the curve of every algorithm from its x (points,) and its values (seeds, points)."""
    return [
        plots.Line(NAMES[algorithm], x, values, colour, dashed=algorithm == "bold-mfw")
        for colour, (algorithm, (x, values)) in enumerate(curves.items())
    ]


FIGURE_2 = Experiment(
    "centralized algorithms",
    ("mnist",),
    lambda size: trials(QUICK_PANELS if size.quick else PANELS, size),
    scenario,
    lambda runs, size: report(runs, size, draw_rounds(runs, size)),
)
FIGURE_3 = Experiment(
    "centralized algorithms",
    ("mnist",),
    lambda size: trials(QUICK_MAX_DELAYS if size.quick else MAX_DELAYS, size),
    scenario,
    lambda runs, size: report(runs, size, draw_delays(runs, size)),
)
