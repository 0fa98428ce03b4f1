"""Line plots with bands over seeds. matplotlib is asked for only here, and only when a figure is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.errors import InputError
from edgefw.experiments.stats import spread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# Okabe and Ito's colours, told apart with any kind of colour vision; markers tell them apart in print.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STYLE: Any = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "edgefw",  # the same figure is the same file
}
_MANY = 40  # points: a line with more has no markers


@dataclass(frozen=True, eq=False)
class Line:
    """One curve: `values` is (seeds, points); the mean is drawn, and the range over seeds as a band.

    `colour` numbers the palette; a `hollow` line is dotted, for numbers that are not ours.
    """

    label: str
    x: NDArray[np.float64]
    values: NDArray[np.float64]
    colour: int
    dashed: bool = False
    hollow: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes. `slope_half` adds a line of slope 1/2, for log-log axes."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = False
    slope_half: bool = False


def line(label: str, points: Sequence[tuple[float, Sequence[float]]], colour: int, **style: bool) -> Line:
    """Return the curve through (x, values over seeds)."""
    x = np.array([at for at, _ in points], dtype=np.float64)
    return Line(label, x, np.array([values for _, values in points], dtype=np.float64).T, colour, **style)


def require() -> None:
    """Fail where figures cannot be drawn, before minutes are spent on what they would show."""
    if find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib: install edgefw[figures] (pip install 'edgefw[figures]')")


def save(panels: Sequence[Panel], stem: Path, *, note: str, share_y: bool = False) -> list[Path]:
    """Draw the panels side by side, with a note below, to `stem`.png (150 dpi) and `stem`.svg."""
    require()
    from matplotlib import rc_context  # noqa: PLC0415 - see the module's first line
    from matplotlib.figure import Figure  # noqa: PLC0415

    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    with rc_context(_STYLE):
        figure = Figure(figsize=(2.2 + 3.7 * len(panels), 4.1), layout="constrained")
        every = figure.subplots(1, len(panels), squeeze=False, sharey=share_y)[0]
        for axes, panel in zip(every, panels, strict=True):
            _draw(axes, panel)
        for axes, panel in zip(every, panels, strict=True):  # only now: it would freeze axes that are shared
            if panel.from_zero:
                axes.set_ylim(bottom=0)
        _legend(figure, every)
        figure.supxlabel(note, fontsize=8, color="#555555")
        figure.savefig(paths[0], dpi=150)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def _draw(axes: Axes, panel: Panel) -> None:
    for each in panel.lines:
        _curve(axes, each)
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.slope_half:
        _slope_half(axes, panel)
    _scales(axes, panel)


def _scales(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import LogFormatter  # noqa: PLC0415

    points = np.unique(np.concatenate([each.x for each in panel.lines]))
    if panel.log_x:
        axes.set_xscale("log")
    elif len(points) <= _MANY:
        axes.set_xticks(points)
    if panel.log_y:
        axes.set_yscale("log")
        for axis_format in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            axis_format(LogFormatter(minor_thresholds=(2, 0.5)))  # 200 rather than 2 x 10^2


def _curve(axes: Axes, each: Line) -> None:
    colour = _COLOURS[each.colour % len(_COLOURS)]
    spreads = [spread(column) for column in each.values.T]
    style: dict[str, Any] = {"color": colour, "label": each.label, "linewidth": 1.6}
    if len(each.x) <= _MANY:
        style |= {"marker": _MARKERS[each.colour % len(_MARKERS)], "markersize": 5}
    if each.dashed:
        style |= {"linestyle": (0, (4, 3)), "markerfacecolor": "white"}
    if each.hollow:
        style |= {"linestyle": ":", "linewidth": 1.0, "markerfacecolor": "white"}
    axes.plot(each.x, [s.mean for s in spreads], **style)
    if len(each.values) > 1:
        low, high = [s.low for s in spreads], [s.high for s in spreads]
        axes.fill_between(each.x, low, high, color=colour, alpha=0.18, linewidth=0)


def _slope_half(axes: Axes, panel: Panel) -> None:
    """Draw c sqrt(x) above all curves: what grows like sqrt(x) runs along it."""
    x = np.unique(np.concatenate([each.x for each in panel.lines]))
    above = 1.15 * max(float((each.values.max(axis=0) / np.sqrt(each.x)).max()) for each in panel.lines)
    axes.plot(x, above * np.sqrt(x), color="#888888", linestyle=(0, (1, 1)), label="slope 1/2")


def _legend(figure: Any, every: Sequence[Axes]) -> None:
    """Put one legend to the right of all panels, every label once."""
    found: dict[str, Any] = {}
    for axes in every:
        handles, labels = axes.get_legend_handles_labels()
        found |= {label: handle for label, handle in zip(labels, handles, strict=True) if label not in found}
    figure.legend(list(found.values()), list(found), loc="outside right center")
