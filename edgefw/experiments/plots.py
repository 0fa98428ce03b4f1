"""Figures: lines with bands, bars, marks. matplotlib is asked for only here, and only when one is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgefw.errors import InputError
from edgefw.experiments.stats import spread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Numbers = NDArray[np.float64]

# Okabe and Ito's colours, told apart with any kind of colour vision; markers tell them apart in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, SOFT, GRID, MUTED, PLAN, FAULT = "#1b2330", "#555555", "#dddddd", "#9aa3ae", "#7a3ea8", "#b3261e"
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STYLE: Any = {
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "edgefw",  # the same figure is the same file
}
_MANY = 40  # points: a line with more has no markers
_ROOM = 34  # letters below a panel
_LABEL = 0.013  # of the width of a panel: a figure in a label


@dataclass(frozen=True, eq=False)
class Line:
    """One curve: `values` is (seeds, points); the mean is drawn, and the range over seeds as a band.

    `colour` numbers the palette; a `hollow` line is dotted, for numbers that are not ours; a `muted` one is
    thin and grey, for what is there but not what the figure is about; a `loose` one has points alone.
    """

    label: str
    x: Numbers
    values: Numbers
    colour: int
    dashed: bool = False
    hollow: bool = False
    muted: bool = False
    loose: bool = False


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars between `edges` (bars + 1,) with their heights (bars,); several in one panel are stacked."""

    label: str
    edges: Numbers
    heights: Numbers
    colour: int
    muted: bool = False


@dataclass(frozen=True)
class Mark:
    """Something that happened at x, told by its number: a change of plan, or a fault of the network."""

    x: float
    number: int
    fault: bool = False


@dataclass(frozen=True)
class Whiskers:
    """A value at x and the interval that it lies in."""

    x: float
    mean: float
    low: float
    high: float
    colour: int


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes. `slope_half` adds a line of slope 1/2, for log-log axes."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line] = ()
    bars: Sequence[Bars] = ()
    marks: Sequence[Mark] = ()
    whiskers: Sequence[Whiskers] = ()
    ticks: Sequence[str] = ()  # names of x = 0, 1, ...
    zero: bool = False  # a line at y = 0
    whole_x: bool = False  # only whole numbers make sense on the x axis
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = False
    slope_half: bool = False


@dataclass(frozen=True, eq=False)
class Drawing:
    """Panels side by side, a note below them, and the name of the files.

    A `small` one fits a column of text, with its legend below. What is `stamped` stands across every panel.
    """

    name: str
    panels: Sequence[Panel]
    note: str
    share_y: bool = False
    small: bool = False
    stamp: str | None = None
    legend: bool = True


def line(label: str, points: Sequence[tuple[float, Sequence[float]]], colour: int, **style: bool) -> Line:
    """Return the curve through (x, values over seeds)."""
    x = np.array([at for at, _ in points], dtype=np.float64)
    return Line(label, x, np.array([values for _, values in points], dtype=np.float64).T, colour, **style)


def require() -> None:
    """Fail where figures cannot be drawn, before minutes are spent on what they would show."""
    if find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib: install edgefw[figures] (pip install 'edgefw[figures]')")


def save(drawing: Drawing, out: Path) -> list[Path]:
    """Draw to name.png (150 dpi), name.svg and name.pdf in the folder `out`."""
    return save_figure(draw(drawing), out, drawing.name)


def save_figure(figure: Figure, out: Path, name: str) -> list[Path]:
    """Write a figure that was drawn."""
    from matplotlib import rc_context  # noqa: PLC0415 - see the module's first line

    paths = [out / f"{name}.{kind}" for kind in ("png", "svg", "pdf")]
    with rc_context(_STYLE):
        figure.savefig(paths[0], dpi=150)
        figure.savefig(paths[1], metadata={"Date": None})
        figure.savefig(paths[2], metadata={"CreationDate": None})
    return paths


def svg_text(figure: Figure) -> str:
    """Return a figure that was drawn as SVG for a page: without background, its words as words."""
    from matplotlib import rc_context  # noqa: PLC0415

    content = StringIO()
    with rc_context(_STYLE | {"svg.fonttype": "none"}):
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None})
    return content.getvalue()


def draw(drawing: Drawing) -> Figure:
    """Return the figure."""
    require()
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    panels = drawing.panels
    size = (5.4, 3.7) if drawing.small else (2.2 + 3.7 * len(panels), 4.1)
    with rc_context(_STYLE | ({"font.size": 11.0} if drawing.small else {})):
        figure = Figure(figsize=size, layout="constrained")
        every = figure.subplots(1, len(panels), squeeze=False, sharey=drawing.share_y)[0]
        for axes, panel in zip(every, panels, strict=True):
            _draw(axes, panel)
        for axes, panel in zip(every, panels, strict=True):  # only now: it would freeze axes that are shared
            if panel.from_zero:
                axes.set_ylim(bottom=0)
            _mark(axes, panel.marks)
            if drawing.stamp:
                _stamp(axes, drawing.stamp)
        if drawing.legend:
            _legend(figure, every, below=drawing.small)
        if drawing.note:
            figure.supxlabel(drawing.note, fontsize=8, color=SOFT)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # all is in its place: it need not be found again for every file
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    for each in panel.lines:
        _curve(axes, each)
    _bars(axes, panel.bars)
    for whiskers in panel.whiskers:
        _whiskers(axes, whiskers)
    if panel.zero:
        axes.axhline(0, color=INK, linewidth=0.8)
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.slope_half:
        _slope_half(axes, panel)
    _scales(axes, panel)


def _scales(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import LogFormatter, MaxNLocator  # noqa: PLC0415

    points = np.unique(np.concatenate([each.x for each in panel.lines])) if panel.lines else np.array([])
    if panel.ticks:
        many = max(map(len, panel.ticks)) * len(panel.ticks) > _ROOM
        turned: dict[str, Any] = {"rotation": 20, "ha": "right"} if many else {}
        axes.set_xticks(range(len(panel.ticks)), panel.ticks, **turned)
        axes.set_xlim(-0.5, len(panel.ticks) - 0.5)
    elif panel.log_x:
        axes.set_xscale("log")
    elif panel.whole_x:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif 0 < len(points) <= _MANY:
        axes.set_xticks(points)
    if panel.log_y:
        axes.set_yscale("log")
        for axis_format in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            axis_format(LogFormatter(minor_thresholds=(2, 0.5)))  # 200 rather than 2 x 10^2


def _curve(axes: Axes, each: Line) -> None:
    colour = MUTED if each.muted else COLOURS[each.colour % len(COLOURS)]
    spreads = [spread(column) for column in each.values.T]
    style: dict[str, Any] = {"color": colour, "label": each.label, "linewidth": 0.8 if each.muted else 1.6}
    if len(each.x) <= _MANY and not each.muted:
        style |= {"marker": _MARKERS[each.colour % len(_MARKERS)], "markersize": 5}
    if each.dashed:
        style |= {"linestyle": (0, (4, 3)), "markerfacecolor": "white"}
    if each.hollow:
        style |= {"linestyle": ":", "linewidth": 1.0, "markerfacecolor": "white"}
    if each.loose:
        few = len(each.x) <= _MANY
        style |= {"linestyle": "none", "marker": style.get("marker", "o"), "markersize": 7 if few else 2}
    axes.plot(each.x, [s.mean for s in spreads], **style)
    if len(each.values) > 1:
        low, high = [s.low for s in spreads], [s.high for s in spreads]
        axes.fill_between(each.x, low, high, color=colour, alpha=0.18, linewidth=0)


def _slope_half(axes: Axes, panel: Panel) -> None:
    """Draw c sqrt(x) above all curves: what grows like sqrt(x) runs along it."""
    x = np.unique(np.concatenate([each.x for each in panel.lines]))
    above = 1.15 * max(float((each.values.max(axis=0) / np.sqrt(each.x)).max()) for each in panel.lines)
    axes.plot(x, above * np.sqrt(x), color="#888888", linestyle=(0, (1, 1)), label="slope 1/2")


def _bars(axes: Axes, every: Sequence[Bars]) -> None:
    """Stack the bars of a panel."""
    below: Any = 0.0
    for bars in every:
        colour = MUTED if bars.muted else COLOURS[bars.colour % len(COLOURS)]
        style: dict[str, Any] = {"align": "edge", "color": colour, "label": bars.label, "linewidth": 0}
        axes.bar(bars.edges[:-1], bars.heights, np.diff(bars.edges), bottom=below, **style)
        below = below + bars.heights


def _whiskers(axes: Axes, each: Whiskers) -> None:
    ends = [[each.mean - each.low], [each.high - each.mean]]
    colour, marker = COLOURS[each.colour % len(COLOURS)], _MARKERS[each.colour % len(_MARKERS)]
    axes.errorbar([each.x], [each.mean], ends, color=colour, marker=marker, markersize=6, capsize=5, zorder=3)


def _mark(axes: Axes, marks: Sequence[Mark]) -> None:
    """Draw a line at every mark, its number on top where there is room for it."""
    left, right = axes.get_xlim()
    places: dict[float, list[Mark]] = {}
    for mark in sorted(marks, key=lambda mark: mark.x):
        places.setdefault(mark.x, []).append(mark)
    free = -math.inf
    for x, here in places.items():
        colour = FAULT if any(mark.fault for mark in here) else PLAN
        axes.axvline(x, color=colour, linewidth=1.0, linestyle="--" if colour == FAULT else "-", alpha=0.75)
        first, last = here[0].number, here[-1].number
        label = f"{first}" if first == last else f"{first}-{last}"
        if x >= free:
            style: dict[str, Any] = {"color": colour, "fontsize": 8, "fontweight": "bold"}
            place: Any = ("data", "axes fraction")
            axes.annotate(label, (x, 1.0), xycoords=place, ha="center", va="bottom", **style)
            free = x + _LABEL * (len(label) + 1) * (right - left)
    if marks:
        axes.set_title(axes.get_title(), pad=14)


def _stamp(axes: Axes, text: str) -> None:
    style: dict[str, Any] = {"ha": "center", "va": "center", "rotation": 24, "fontsize": 17, "alpha": 0.35}
    place: dict[str, Any] = {"transform": axes.transAxes, "in_layout": False}
    axes.text(0.5, 0.5, text.replace(", ", "\n"), color=MUTED, fontweight="bold", **style, **place)


def _legend(figure: Any, every: Sequence[Axes], *, below: bool) -> None:
    """Put one legend to the right of all panels, or below them, every label once; "_" hides one."""
    found: dict[str, Any] = {}
    for axes in every:
        handles, labels = axes.get_legend_handles_labels()
        found |= {label: handle for label, handle in zip(labels, handles, strict=True) if label not in found}
    if below and found:
        columns = 3 if max(map(len, found)) < 16 else 2
        figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns)
    elif found:
        figure.legend(list(found.values()), list(found), loc="outside right center")
