"""The whole paper in one report: its tables and figures, ours beside theirs, and a verdict for each claim."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.experiments import reproduce
from edgefw.experiments.experiment import write_rows
from edgefw.experiments.published import DEPARTURES, HORIZON, SOURCE
from edgefw.experiments.size import announce, make_size, with_data
from edgefw.experiments.table1 import table1
from edgefw.experiments.tables import Table
from edgefw.reports.document import Document, Picture, Section, Tile, prepare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from edgefw.experiments.experiment import Claim, Findings
    from edgefw.experiments.runner import Outcome
    from edgefw.experiments.size import Size

ALL = "all"
TARGETS = (*reproduce.TARGETS, ALL)
REPORT = "report.html"
TITLES: Mapping[str, str] = {
    "table1": "Table 1: what a round costs",
    "table2": "Table 2: De2MFW on four graphs, some agents 501 rounds late",
    "figure4": "Figure 4: total loss against the number of late agents",
    "figure2": "Figure 2: total loss over rounds, one learner",
    "figure3": "Figure 3: total loss against the largest delay, one learner",
    "regret": "Growth of regret with the total delay B",
}
SHARED: Mapping[str, str] = {"figure4": "table2", "figure2": "figure3"}
"""Figures that are drawn from another part's runs: claims and tables stand with that part, once."""
CAPTIONS: Mapping[str, str] = {
    "figure4": "Total loss against f, mean and range over seeds.",
    "figure2": "Total loss up to every round at three largest delays, mean and range over seeds.",
    "figure3": "Total loss against the largest delay, at the published rate and with every rate tuned.",
    "regret": "Regret against the total delay, and what is left when its root is divided out.",
}
THEIRS: Mapping[str, str] = {
    "figure4": "The paper's points are dotted.",
    "figure3": "Hollow points: the paper's settings, run independently; the paper has curves only.",
}


@dataclass(frozen=True, eq=False)
class Part:
    """A target that was run."""

    target: str
    findings: Findings
    seconds: float

    @property
    def absent(self) -> tuple[str, ...]:
        """Published data sets that a synthetic stream stood in for."""
        return self.findings.absent

    @property
    def claims(self) -> Sequence[Claim]:
        """The claims that are this part's own."""
        return () if self.target in SHARED else self.findings.claims

    @property
    def judged(self) -> list[Claim]:
        """Those of them that there is a verdict on."""
        return [claim for claim in self.claims if claim.holds is not None]


def run(target: str, *, quick: bool, seeds: int | None, out: Path, jobs: int | None) -> None:
    """Reproduce one target, or all of them in one report."""
    if target != ALL:
        reproduce.run(target, quick=quick, seeds=seeds, out=out, jobs=jobs, known_targets=TARGETS)
        return
    size = make_size(quick=quick, seeds=seeds)
    prepare(out)
    data = dict.fromkeys(name for each in reproduce.EXPERIMENTS.values() for name in each.data)
    with_data(size, *data)  # a full run without one of them is refused at once
    announce(size, *data)
    parts = play(size, jobs)
    found = document(parts, size)
    with terminal.status("drawing"):
        _write_numbers(parts, out)
        path = found.write(out, REPORT)
    terminal.out.print(found.headline)
    terminal.out.print(f"report: {path.absolute().as_uri()}")


def play(size: Size, jobs: int | None) -> list[Part]:
    """Run every target, larger ones first: what they have simulated is not simulated again."""
    known: dict[str, Outcome] = {}
    parts = []
    for target in TITLES:
        begin = time.perf_counter()
        counts = target == "table1"
        findings = table1(size) if counts else reproduce.EXPERIMENTS[target].run(size, jobs, known)
        parts.append(Part(target, findings, time.perf_counter() - begin))
    return parts


def _write_numbers(parts: Sequence[Part], out: Path) -> None:
    """Write the rows of every part, and all claims."""
    for part in parts:
        write_rows(out / f"{part.target}.csv", part.findings.rows)
    claims = [{"part": part.target, **asdict(claim)} for part in parts for claim in part.claims]
    write_rows(out / "claims.csv", claims)


def document(parts: Sequence[Part], size: Size) -> Document:
    """Return the report on all parts; every figure stands in it once."""
    absent = sorted({name for part in parts for name in part.absent})
    lead = [_size_words(size)]
    if absent:
        lead.append(
            f"Not on this machine: {', '.join(absent)}. What would use it used a synthetic stream instead, "
            "and says so."
        )
    return Document(
        "The paper, reproduced",
        headline(parts, size),
        lead,
        [_short(parts, size), *(_section(part, size) for part in parts), _departures()],
        f"synthetic data in place of {', '.join(absent)}" if absent else "",
    )


def headline(parts: Sequence[Part], size: Size) -> str:
    """Say in a sentence what came of it."""
    if not size.compares:
        return f"A quick run, T = {size.horizon} instead of {HORIZON}: everything works, no loss is judged."
    return f"{_holding(parts)} claims of the paper hold."


def _size_words(size: Size) -> str:
    seeds = "seed 1" if len(size.seeds) == 1 else f"seeds {size.seeds[0]} to {size.seeds[-1]}"
    kind = "A small version" if size.quick else "The published settings"
    return f"{kind}: T = {size.horizon}, {seeds}. Bands are ranges over seeds."


def _short(parts: Sequence[Part], size: Size) -> Section:
    rows = [
        [
            TITLES[part.target],
            _holding([part]),
            f"{part.seconds:.1f}",
            "synthetic" if part.absent else "counts alone" if part.target == "table1" else "published",
        ]
        for part in parts
    ]
    seconds = sum(part.seconds for part in parts)
    tiles = [
        Tile("claims that hold", _holding(parts), "" if size.compares else "a quick run judges no loss"),
        Tile("time taken", f"{seconds:.0f} s"),
        Tile("rounds", str(size.horizon), f"of {HORIZON}" if size.quick else "as published"),
        Tile("seeds", str(len(size.seeds))),
    ]
    note = "What an earlier part has simulated is not simulated again: its time is the first one's."
    table = Table("Parts", ("part", "claims that hold", "seconds", "data"), rows, note)
    return Section("In short", tiles=tiles, tables=[table])


def _holding(parts: Sequence[Part]) -> str:
    """Return how many claims hold, of those that were judged."""
    claims = [claim for part in parts for claim in part.judged]
    return f"{sum(claim.holds is True for claim in claims)} of {len(claims)}" if claims else "-"


def _section(part: Part, size: Size) -> Section:
    figure, target = part.findings.figure, part.target
    taken = f"Time taken: {part.seconds:.1f} s."
    synthetic = f" Synthetic data: {', '.join(part.absent)} is not on this machine." if part.absent else ""
    elsewhere = (
        f" Numbers and claims: {TITLES[SHARED[target]].partition(':')[0]}." if target in SHARED else ""
    )
    shown = [] if figure is None or target == "table2" else [Picture(figure, _caption(target, size))]
    title = f"{TITLES[target]} [synthetic]" if part.absent else TITLES[target]
    return Section(
        title,
        words=[f"{taken}{synthetic}{elsewhere}"],
        verdicts=part.claims,
        tables=[] if target in SHARED else part.findings.tables,
        pictures=shown,
        files=[f"{target}.csv"],
    )


def _caption(target: str, size: Size) -> str:
    """Say what a figure shows, and what of the paper is in it."""
    if target not in THEIRS:
        return CAPTIONS[target]
    apart = f"Theirs, of T = {HORIZON}, cannot stand beside T = {size.horizon}."
    return f"{CAPTIONS[target]} {THEIRS[target] if size.compares else apart}"


def _departures() -> Section:
    words = [f"The settings are those of {SOURCE}. Where they differ from the paper's text:"]
    rows = [[departure] for departure in DEPARTURES]
    return Section("Settings", words=words, tables=[Table("Departures", ("setting",), rows)])
