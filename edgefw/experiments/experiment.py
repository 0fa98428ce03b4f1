"""An experiment: a grid of scenarios, each run with every seed, and its findings: table, figure, claims."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from edgefw import terminal
from edgefw.core.regret import cumulative_loss, total_loss
from edgefw.errors import InputError
from edgefw.experiments import plots, runner
from edgefw.experiments.runner import Outcome
from edgefw.experiments.size import Size, with_data
from edgefw.experiments.stats import Spread, spread

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.experiments.tables import Table
    from edgefw.scenario.model import Scenario

Case = TypeVar("Case")
"""What an experiment varies: a graph, an algorithm, a rate."""

Runs = Mapping[Case, Sequence[Outcome]]
"""The outcomes of every case, seed by seed."""

Row = Mapping[str, str | int | float | None]


@dataclass(frozen=True)
class Claim:
    """What the paper says, whether our runs met it (None: that was not judged), and what says so."""

    claim: str
    holds: bool | None
    evidence: str


def judged(claims: Sequence[Claim], size: Size) -> list[Claim]:
    """Return claims as they are judged at a size: a run that is not the published one judges none."""
    if size.compares:
        return list(claims)
    why = f"quick run, T = {size.horizon}: only the published size can show it"
    return [Claim(claim.claim, None, why) for claim in claims]


@dataclass(frozen=True, eq=False)
class Findings:
    """What an experiment leaves behind: tables, rows of a CSV file, a figure, claims and their verdicts."""

    rows: Sequence[Row]
    figure: plots.Drawing | None
    claims: Sequence[Claim]
    tables: Sequence[Table] = ()
    absent: tuple[str, ...] = ()  # published data sets that a synthetic stream stood in for

    def on_synthetic(self, absent: tuple[str, ...]) -> Findings:
        """Return the same, with "synthetic" on everything that is shown if a data set was absent."""
        if not absent:
            return self
        stamp = f"synthetic, not {', '.join(absent)}"
        figure = None if self.figure is None else replace(self.figure, stamp=stamp)
        tables = [replace(table, title=f"{table.title} [{stamp}]") for table in self.tables]
        return replace(self, figure=figure, tables=tables, absent=absent)

    def show(self) -> None:
        """Print tables, and claims where they were judged."""
        for table in self.tables:
            table.show()
        if any(each.holds is not None for each in self.claims):
            terminal.out.print("Claims:", style="bold")
            for each in self.claims:
                word, style = ("holds", "green") if each.holds else ("FAILS", "bold red")
                terminal.out.print(word, style=style, end="  ")
                terminal.out.print(f"{each.claim}: {each.evidence}")

    def write(self, out: Path, name: str) -> list[Path]:
        """Write numbers, figure and judged claims to the folder `out`; return the files."""
        written = [write_rows(out / f"{name}.csv", self.rows)]
        if self.figure is not None:
            written += plots.save(self.figure, out)
        if any(each.holds is not None for each in self.claims):
            said = [{"claim": c.claim, "holds": str(c.holds), "evidence": c.evidence} for c in self.claims]
            written.append(write_rows(out / "claims.csv", said))
        return written


@dataclass(frozen=True)
class Experiment(Generic[Case]):
    """Which runs an experiment is made of, and what to make of them.

    - title: what is shown while it runs; data: the published data sets that it needs.
    - cases: what is varied, at a size; scenario: that of a case, a size and a seed.
    - report: what the runs come to.
    """

    title: str
    data: tuple[str, ...]
    cases: Callable[[Size], Iterable[Case]]
    scenario: Callable[[Case, Size, int], Scenario]
    report: Callable[[Runs[Case], Size], Findings]

    def run(self, size: Size, jobs: int | None, known: dict[str, Outcome] | None = None) -> Findings:
        """Run every case with every seed; `known` has outcomes by digest, and gets those that are new."""
        size = with_data(size, *self.data)
        return self.report(self.play(size, jobs, known), size).on_synthetic(size.absent)

    def play(
        self, size: Size, jobs: int | None, known: dict[str, Outcome] | None = None
    ) -> dict[Case, list[Outcome]]:
        """Simulate every case with every seed, equal scenarios once; those of a seed share their data."""
        outcomes = {} if known is None else known
        wanted = {case: [self.scenario(case, size, s) for s in size.seeds] for case in self.cases(size)}
        by_seed = zip(*wanted.values(), strict=True)
        distinct = {scenario.digest: scenario for each in by_seed for scenario in each}
        new = {digest: scenario for digest, scenario in distinct.items() if digest not in outcomes}
        rounds = sum(scenario.algorithm.rounds for scenario in new.values())
        with terminal.progress_bar(self.title, rounds) as progress:
            outcomes |= zip(new, runner.run_all(list(new.values()), progress, jobs), strict=True)
        return {case: [outcomes[scenario.digest] for scenario in each] for case, each in wanted.items()}


def prepare(out: Path) -> None:
    """Make the folder of the results before anything is computed for it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror}; give another --out") from None


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    """Write rows with the same columns as CSV, whole or not at all; return the path."""
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    partial.replace(path)
    return path


def rows_of(runs: Runs[Case], row: Callable[[Case, Outcome], Row]) -> list[Row]:
    """Return the row of every run, case by case."""
    return [row(case, outcome) for case, outcomes in runs.items() for outcome in outcomes]


def losses(outcomes: Iterable[Outcome]) -> list[float]:
    """Return sum_t max_i F_t(x_t^i), the paper's total loss, of every outcome."""
    return [total_loss(outcome.trace.global_loss) for outcome in outcomes]


def means(runs: Runs[Case]) -> dict[Case, Spread]:
    """Return the total loss of every case over its seeds."""
    return {case: spread(losses(outcomes)) for case, outcomes in runs.items()}


def worst_cumulative(outcome: Outcome) -> float:
    """Return max_i sum_t F_t(x_t^i), what the network regret is made of."""
    return float(cumulative_loss(outcome.trace.global_loss).max())


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign, as the tables print changes.

    >>> signed(2.04), signed(-0.08, 2)
    ('+2.0', '-0.08')
    """
    return f"{round(value, digits) + 0.0:+.{digits}f}"  # + 0.0: no -0.0
