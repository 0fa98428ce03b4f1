"""Runs held against each other, seed by seed: means, 95 % intervals and paired differences. Pure.

Two measures, which are never subtracted from each other:

- total loss, sum over rounds of the maximum over agents: the paper's;
- network regret, maximum over agents of the sum over rounds, less what the best fixed point loses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.errors import InputError
from edgefw.experiments.experiment import Row, signed
from edgefw.experiments.plots import draw
from edgefw.experiments.stats import Interval, interval, paired
from edgefw.experiments.tables import Table
from edgefw.history import frame

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure
    from pandas import DataFrame

MEASURES: Mapping[str, str] = {
    "total_loss": "total loss (sum over rounds of the maximum over agents)",
    "network_regret": "network regret (maximum over agents of the sum over rounds)",
}
SHORT: Mapping[str, str] = {"total_loss": "total loss", "network_regret": "network regret"}


@dataclass(frozen=True)
class Result:
    """What one run came to."""

    seed: int
    data: str  # what it learned from
    rounds: int
    total_loss: float  # sum_t max_i F_t(x_t^i)
    worst_loss: float  # max_i sum_t F_t(x_t^i)
    comparator_loss: float | None  # of the best fixed point; None where it was not looked for
    comparator_gap: float | None
    rate: float

    @property
    def network_regret(self) -> float | None:
        """What the worst agent lost more than the best fixed point."""
        return None if self.comparator_loss is None else self.worst_loss - self.comparator_loss


@dataclass(frozen=True)
class Arm:
    """What is compared: runs that differ in their seed alone."""

    label: str
    results: tuple[Result, ...]

    def values(self, measure: str, seeds: Sequence[int]) -> dict[int, float]:
        """Return a measure of these seeds, by seed."""
        by_seed = {result.seed: result for result in self.results}
        return {seed: getattr(by_seed[seed], measure) for seed in seeds}


@dataclass(frozen=True)
class Standing:
    """How an arm stands in one measure; `difference` is from the first arm, paired, None of that itself."""

    arm: str
    measure: str
    mean: Interval
    difference: Interval | None
    below: int | None  # with how many seeds it is below the first


class Comparison:
    """Arms that can be compared, paired by seed; the first is the one that others are held against."""

    def __init__(self, arms: Sequence[Arm], notes: Sequence[str] = ()) -> None:
        if len(arms) < 2:
            raise InputError("a comparison needs two of something: scenarios, runs, or --algorithms a,b")
        labels = [arm.label for arm in arms]
        if len(set(labels)) < len(labels):
            raise InputError(f"two of {', '.join(labels)} have the same name: nobody could tell them apart")
        for arm in arms:
            _check_seeds(arm)
        _check_alike(arms)
        self.arms, self.notes = tuple(arms), tuple(notes)
        common = set.intersection(*({result.seed for result in arm.results} for arm in arms))
        if not common:
            raise InputError("no seed is in all of them: only runs with the same seed can be paired")
        self.seeds: tuple[int, ...] = tuple(sorted(common))

    def __repr__(self) -> str:
        labels = ", ".join(arm.label for arm in self.arms)
        return f"<edgefw.Comparison of {labels}; seeds {', '.join(map(str, self.seeds))}>"

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures that all runs have."""
        every = [result for arm in self.arms for result in arm.results if result.seed in self.seeds]
        return tuple(name for name in MEASURES if all(getattr(each, name) is not None for each in every))

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """Seeds that not all arms have."""
        every = {result.seed for arm in self.arms for result in arm.results}
        return tuple(sorted(every - set(self.seeds)))

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """Every arm in every measure."""
        return tuple(self._standing(arm, measure) for measure in self.measures for arm in self.arms)

    def _standing(self, arm: Arm, measure: str) -> Standing:
        values = arm.values(measure, self.seeds)
        mean = interval(list(values.values()))
        if arm is self.arms[0]:
            return Standing(arm.label, measure, mean, None, None)
        apart = paired(values, self.arms[0].values(measure, self.seeds))
        return Standing(arm.label, measure, mean, interval(apart), sum(each < 0 for each in apart))

    def tables(self) -> list[Table]:
        """Return a table for every measure."""
        first, count = self.arms[0].label, len(self.seeds)
        header = ("compared", "rate", "mean", "95 %", "difference", "95 %", "below")
        return [
            Table(
                f"{MEASURES[measure][0].upper()}{MEASURES[measure][1:]}, {_seeds(count)}",
                header,
                [self._cells(standing) for standing in self.standings if standing.measure == measure],
                f"difference: from {first}, paired by seed; below: with how many seeds; 95 %: the interval.",
            )
            for measure in self.measures
        ]

    def words(self) -> list[str]:
        """Return what has to be known to read the tables."""
        pairs = (
            "Differences are paired: runs of one seed share what that seed draws, and what is common to them "
            "does not count. Where 0 is outside of an interval, the difference is hardly chance. Total loss "
            "and network regret are different sums: one cannot be subtracted from the other."
        )
        said = [pairs, *self.notes]
        if len(self.seeds) == 1:
            said.append("One seed has no interval: give more.")
        if self.left_out:
            said.append(f"Left out, since not all have them: seeds {', '.join(map(str, self.left_out))}.")
        gaps = [
            result.comparator_gap / abs(result.network_regret)
            for arm in self.arms
            for result in arm.results
            if result.comparator_gap is not None and result.network_regret
        ]
        if gaps:
            said.append(
                f"Every regret may be larger by {max(gaps):.1%} at most: its best fixed point's certificate."
            )
        return said

    def rows(self) -> list[Row]:
        """Return the statistics as rows of a CSV file."""
        return [
            {
                "arm": each.arm,
                "measure": each.measure,
                "seeds": each.mean.count,
                "mean": each.mean.mean,
                "low": each.mean.low,
                "high": each.mean.high,
                "against": None if each.difference is None else self.arms[0].label,
                "difference": None if each.difference is None else each.difference.mean,
                "difference_low": None if each.difference is None else each.difference.low,
                "difference_high": None if each.difference is None else each.difference.high,
                "below": each.below,
            }
            for each in self.standings
        ]

    def run_rows(self) -> list[Row]:
        """Return every run as a row of a CSV file."""
        return [
            {
                "arm": arm.label,
                "seed": result.seed,
                "total_loss": result.total_loss,
                "network_regret": result.network_regret,
                "worst_loss": result.worst_loss,
                "comparator_loss": result.comparator_loss,
                "comparator_gap": result.comparator_gap,
                "rate": result.rate,
                "rounds": result.rounds,
                "data": result.data,
            }
            for arm in self.arms
            for result in arm.results
        ]

    def to_latex(self) -> str:
        """Return the statistics as a LaTeX table that needs no package."""
        over, first = _seeds(len(self.seeds)), _latex(self.arms[0].label)
        caption = rf"Mean and 95\,\% interval over {over}; differences from {first}, paired by seed."
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            r"\begin{tabular}{l" + "rr" * len(self.measures) + "}",
            r"\hline",
            " & ".join(["", *(rf"{SHORT[name]} & difference" for name in self.measures)]) + r" \\",
            r"\hline",
        ]
        for arm in self.arms:
            cells = [_latex(arm.label)]
            for each in (standing for standing in self.standings if standing.arm == arm.label):
                cells += [
                    _latex_interval(each.mean),
                    "--" if each.difference is None else _latex_interval(each.difference),
                ]
            lines.append(" & ".join(cells) + r" \\")
        meaning = "; ".join(MEASURES[name] for name in self.measures)
        return "\n".join([*lines, r"\hline", r"\end{tabular}", r"\end{table}", f"% {meaning}", ""])

    def plot(self) -> Figure:
        """Return a matplotlib figure: every arm, seed by seed, with means and 95 % intervals."""
        from edgefw.reports.comparison_files import values  # noqa: PLC0415 - most are not drawn

        return draw(values(self))

    def write(self, out: str | os.PathLike[str]) -> list[Path]:
        """Write CSV files, a LaTeX table, figures and a page to a folder; return the files."""
        from edgefw.reports.comparison_files import write  # noqa: PLC0415

        return write(self, Path(out))

    def to_frame(self) -> DataFrame:
        """Return the statistics as a pandas.DataFrame, a row for every arm and measure."""
        return frame(self.rows())

    def _rate(self, label: str) -> str:
        (arm,) = (arm for arm in self.arms if arm.label == label)
        rates = sorted({result.rate for result in arm.results})
        return f"{rates[0]:.4g}" if len(rates) == 1 else f"{rates[0]:.4g} to {rates[-1]:.4g}"

    def _cells(self, standing: Standing) -> list[str]:
        mean, apart = standing.mean, standing.difference
        cells = [standing.arm, self._rate(standing.arm), f"{mean.mean:.2f}", _ends(mean)]
        if apart is None:
            return [*cells, "-", "-", "-"]
        return [*cells, signed(apart.mean, 2), _ends(apart), f"{standing.below} of {len(self.seeds)}"]


def _check_seeds(arm: Arm) -> None:
    seeds = [result.seed for result in arm.results]
    twice = sorted({seed for seed in seeds if seeds.count(seed) > 1})
    if twice:
        raise InputError(f"{arm.label} has seed {twice[0]} twice: a seed is paired once")


def _check_alike(arms: Sequence[Arm]) -> None:
    """Refuse sums over different data or different numbers of rounds."""
    every = [(arm.label, result) for arm in arms for result in arm.results]
    label, first = every[0]
    for other, result in every:
        if result.data != first.data:
            raise InputError(
                f"{label} learned from {first.data} and {other} from {result.data}: "
                "losses of different data cannot be compared"
            )
        if result.rounds != first.rounds:
            raise InputError(
                f"{label} has {first.rounds} rounds and {other} {result.rounds}: "
                "sums over different numbers of rounds cannot be compared"
            )


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _ends(found: Interval) -> str:
    return "-" if found.count == 1 else f"{found.low:.2f} to {found.high:.2f}"


def _latex_interval(found: Interval) -> str:
    if found.count == 1:
        return f"${found.mean:.2f}$"
    return f"${found.mean:.2f}$ [${found.low:.2f}$, ${found.high:.2f}$]"


def _latex(text: str) -> str:
    r"""Return a text as LaTeX prints it.

    >>> _latex("my_mod:A & 5 %")
    'my\\_mod:A \\& 5 \\%'
    """
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {letter: f"\\{letter}" for letter in "&%$#_{}"}
    return "".join(special.get(letter, letter) for letter in text)
