"""A comparison as figures and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.experiments.experiment import write_rows
from edgefw.experiments.plots import Drawing, Line, Panel, Whiskers
from edgefw.reports.comparison import MEASURES, SHORT, Comparison
from edgefw.reports.document import Document, Picture, Section, prepare

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.experiments.stats import Interval

NAME = "comparison"
PAGE = f"{NAME}.html"


def write(found: Comparison, out: Path) -> list[Path]:
    """Write tables, figures and a page to the folder `out`; return the files that were written."""
    prepare(out)
    latex = out / f"{NAME}.tex"
    latex.write_text(found.to_latex(), encoding="utf-8")
    tables = [write_rows(out / f"{NAME}.csv", found.rows()), write_rows(out / "seeds.csv", found.run_rows())]
    page = document(found).write(out, PAGE)
    return [*tables, latex, page]


def document(found: Comparison) -> Document:
    """Return the page on a comparison."""
    first = found.arms[0].label
    pictures = [
        Picture(values(found), "Every seed is a thin line; dots are means, with their 95 % intervals."),
        Picture(
            differences(found),
            f"Differences from {first}, paired by seed, with 95 % intervals: below 0 is less than {first}.",
        ),
    ]
    section = Section(
        "Means and paired differences",
        words=found.words(),
        tables=found.tables(),
        pictures=pictures,
        files=[f"{NAME}.csv", "seeds.csv", f"{NAME}.tex"],
    )
    arms = ", ".join(arm.label for arm in found.arms)
    return Document(f"Compared: {arms}", headline(found), [], [section])


def headline(found: Comparison) -> str:
    """Say in a sentence who is ahead."""
    measure = found.measures[-1]
    first = found.arms[0].label
    said = []
    for each in found.standings:
        if each.measure != measure or each.difference is None:
            continue
        apart = each.difference
        if apart.count > 1 and not apart.apart:
            said.append(f"{each.arm} cannot be told from {first}")
        else:
            side = "below" if apart.mean < 0 else "above"
            said.append(f"{each.arm} is {abs(apart.mean):.1f} {side} {first}")
    return f"In {SHORT[measure]}, {'; '.join(said)}."


def values(found: Comparison) -> Drawing:
    """Draw what every arm came to, seed by seed."""
    return _drawing(found, f"{NAME}-values", apart=False)


def differences(found: Comparison) -> Drawing:
    """Draw how far every arm is from the first."""
    return _drawing(found, f"{NAME}-differences", apart=True)


def _drawing(found: Comparison, name: str, *, apart: bool) -> Drawing:
    panels = [_panel(found, measure, apart=apart) for measure in found.measures]
    note = f"{len(found.seeds)} seeds; " + "; ".join(MEASURES[measure] for measure in found.measures)
    return Drawing(name, panels, note, legend=False)


def _panel(found: Comparison, measure: str, *, apart: bool) -> Panel:
    x = np.arange(len(found.arms), dtype=np.float64)
    table = np.array([[arm.values(measure, found.seeds)[seed] for seed in found.seeds] for arm in found.arms])
    shown = table - table[0] if apart else table
    lines = [Line(f"seed {seed}", x, shown[None, :, i], 0, muted=True) for i, seed in enumerate(found.seeds)]
    standings = [standing for standing in found.standings if standing.measure == measure]
    means = [standing.difference if apart else standing.mean for standing in standings]
    whiskers = [_whiskers(i, each) for i, each in enumerate(means) if each is not None]
    y_label = f"{SHORT[measure]}, less {found.arms[0].label}" if apart else f"{SHORT[measure]} (nats)"
    ticks = [arm.label for arm in found.arms]
    return Panel(SHORT[measure], "", y_label, lines, whiskers=whiskers, ticks=ticks, zero=apart)


def _whiskers(place: int, found: Interval) -> Whiskers:
    ends = (found.mean, found.mean) if found.count == 1 else (found.low, found.high)
    return Whiskers(float(place), found.mean, *ends, place)
