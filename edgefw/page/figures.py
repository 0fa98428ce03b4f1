"""The figures of a run, defined once: for the page of a run under way, and of a finished one.

A figure draws named sources; whoever shows it puts the numbers in. Each curve of agents is one source with a
line an agent; `network` has what is of the whole, `events` the marks that stand on every figure, `cursor` the
round that is looked at.

They are the same for every run under a clock, and Bokeh takes seconds to make them: `make figures` writes
them into a file that comes along, and a page takes them from there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from bokeh.document import Document
from bokeh.models import (
    BasicTickFormatter,
    ColumnDataSource,
    DataRange1d,
    HoverTool,
    MultiLine,
    ResetTool,
    SaveTool,
    TapTool,
    VSpan,
)
from bokeh.models import BoxZoomTool as BoxZoom
from bokeh.plotting import figure

from edgefw.page.prepare import FIGURES

LINES: dict[str, list[Any]] = {"xs": [], "ys": [], "agent": [], "color": [], "width": [], "alpha": []}
NETWORK: dict[str, list[Any]] = {
    name: [] for name in ("round", "loss", "regret", "ratio", "cost", "pace", "asked")
}
EVENTS: dict[str, list[Any]] = {"x": [], "text": [], "color": []}
HEIGHT = 220
CLOCKS = ("rounds", "wall")
TOOLBAR = (
    ":host(.bk-inner) { background-color: var(--card, white); }"  # it lies on the figure: as the page is
)
_ID = re.compile(r'"p(\d+)"')  # Bokeh numbers the models of a process


THEMES: dict[str, dict[str, dict[str, Any]]] = {
    name: {
        "Figure": {
            "background_fill_color": None,
            "border_fill_color": None,
            "border_line_color": None,
            "outline_line_color": None,
        },
        "LinearAxis": {
            "axis_line_color": line,
            "major_tick_line_color": line,
            "minor_tick_line_color": None,
            "major_label_text_color": text,
            "axis_label_text_color": text,
            "axis_label_text_font_style": "normal",
            "axis_label_text_font_size": "12px",
            "major_label_text_font_size": "12px",
            "axis_label_standoff": 4,
        },
        "Grid": {"grid_line_color": grid, "minor_grid_line_color": None},
    }
    for name, text, line, grid in (
        ("light", "#4a5361", "#c2c8d0", "#e7eaee"),
        ("dark", "#aeb8c6", "#465061", "#262d38"),
    )
}
"""What Bokeh's models look like, by the name of their type."""


@dataclass(frozen=True)
class Chart:
    """One figure: the curves of agents that it has, and the curve of the network, by their sources' names."""

    name: str
    title: str
    unit: str
    lines: tuple[str, ...] = ()
    network: tuple[tuple[str, str], ...] = ()  # column and dash
    from_zero: bool = True


def charts(clock: str) -> tuple[Chart, ...]:
    """Return the figures of a run under this clock."""
    unit = "rounds" if clock == "rounds" else "s"
    regret = (("regret", "solid"),)
    own = Chart("delay", "Delay, in rounds", "rounds", ("delay",))
    return (
        Chart("regret", "Regret, at least", "loss", ("regret",), regret, from_zero=False),
        Chart("ratio", "Regret / √B", "", ("ratio",), (("ratio", "solid"),), from_zero=False),
        Chart("loss", "Loss per round", "loss", ("loss",), (("loss", "solid"),)),
        Chart("cost", "Cost of delays so far", "loss", ("cost",), (("cost", "solid"),), from_zero=False),
        Chart("queue", "Feedback on its way", "feedbacks", ("queue",)),
        *((own,) if clock == "wall" else ()),
        Chart("observed", "Delay asked for (dashed), seen", unit, ("observed", "requested")),
        Chart(
            "pace",
            "Round asked for (dashed), reached",
            "s",
            (),
            (("pace", "solid"), ("asked", "dashed")),
        ),
    )


def document(clock: str) -> Document:
    """Return the figures as a document with one root a figure, named like it."""
    shared = {
        "network": ColumnDataSource(NETWORK, name="network"),
        "events": ColumnDataSource(EVENTS, name="events"),
        "cursor": ColumnDataSource({"x": []}, name="cursor"),
    }
    x_range = DataRange1d(range_padding=0.02, name="rounds")
    found = Document()
    drawn: list[Any] = []
    for chart in charts(clock):
        root, renderers = _figure(chart, shared, x_range)
        drawn += renderers
        found.add_root(root)
    x_range.renderers = drawn
    return found


def written() -> str:
    """Return all that a page needs of them, by clock, as JSON: the same in whatever process it is written."""
    return json.dumps({clock: _numbered(clock) for clock in CLOCKS}, separators=(",", ":")) + "\n"


def _numbered(clock: str) -> dict[str, Any]:
    """Return the figures of a clock, their models numbered from 1 in the order in which they appear."""
    found = document(clock)
    text = json.dumps(
        {
            "document": found.to_json(deferred=False),
            "roots": {root.name: root.id for root in found.roots},
            "charts": [{"name": chart.name, "title": chart.title} for chart in charts(clock)],
            "themes": THEMES,
        }
    )
    ids = {name: f'"p{i}"' for i, name in enumerate(dict.fromkeys(_ID.findall(text)), start=1)}
    numbered: dict[str, Any] = json.loads(_ID.sub(lambda match: ids[match[1]], text))
    return numbered


def _figure(chart: Chart, shared: dict[str, ColumnDataSource], x_range: DataRange1d) -> tuple[Any, list[Any]]:
    y_range = DataRange1d(range_padding=0.08)
    if chart.from_zero:
        y_range.start = 0
    plot = figure(
        name=chart.name,
        height=HEIGHT,
        sizing_mode="stretch_width",
        x_range=x_range,
        y_range=y_range,
        toolbar_location="right",
        tools=[BoxZoom(dimensions="width"), ResetTool(), SaveTool()],
        active_drag=None,
        min_border_left=46,
        output_backend="canvas",
        lod_threshold=None,
        **THEMES["light"]["Figure"],
    )
    plot.toolbar.autohide, plot.toolbar.logo, plot.toolbar_inner = True, None, True
    plot.toolbar.stylesheets = [TOOLBAR]
    plot.xaxis.axis_label, plot.yaxis.axis_label = "round", chart.unit or None
    plot.yaxis.formatter = BasicTickFormatter(use_scientific=False, precision="auto")
    plot.xgrid.visible = False
    marks = plot.add_glyph(
        shared["events"], VSpan(x="x", line_color="color", line_width=1.4, line_dash="dotted")
    )
    plot.add_glyph(shared["cursor"], VSpan(x="x", line_color="#888888", line_width=1))
    renderers = [_lines(plot, name, dashed=name != chart.lines[0]) for name in chart.lines]
    renderers += [_network_line(plot, column, dash, shared["network"]) for column, dash in chart.network]
    y_range.renderers = list(renderers)
    if chart.lines:
        tips = [("agent", "@agent"), ("round", "$data_x{0}"), (chart.unit or "value", "$data_y{0.[000]}")]
        plot.add_tools(
            HoverTool(renderers=renderers[:1], tooltips=tips, line_policy="nearest"),
            TapTool(renderers=renderers[:1]),
        )
    plot.add_tools(HoverTool(renderers=[marks], tooltips=[("", "@text"), ("round", "@x")]))
    return plot, renderers


def _lines(plot: Any, name: str, *, dashed: bool) -> Any:
    """Add a line an agent."""
    lines = MultiLine(
        xs="xs",
        ys="ys",
        line_color="color",
        line_width="width",
        line_alpha="alpha",
        line_dash="dashed" if dashed else "solid",
        line_join="round",
    )
    source = ColumnDataSource(LINES, name=name)
    return plot.add_glyph(source, lines, nonselection_glyph=None, selection_glyph=None)


def _network_line(plot: Any, column: str, dash: str, source: ColumnDataSource) -> Any:
    return plot.line(
        "round",
        column,
        source=source,
        line_width=1.8,
        line_dash=dash,
        line_color="#888888",
        name=f"network-{column}",
    )


if __name__ == "__main__":
    FIGURES.write_text(written(), encoding="utf-8")
