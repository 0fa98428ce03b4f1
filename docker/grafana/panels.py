"""Panels in one style: a title, a description, a unit, and queries on the data source variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from grafana_foundation_sdk.builders import common, stat, timeseries
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as models

Panel: TypeAlias = stat.Panel | timeseries.Panel

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
HEIGHT = {"chart": 8, "stat": 4}
_NOT_YET = "not yet known"


@dataclass(frozen=True)
class Query:
    """A PromQL expression, and what its series are called in the legend."""

    expr: str
    legend: str = "agent {{agent}}"


def chart(
    title: str, description: str, unit: str, *queries: Query, width: int = 8, floor: float | None = 0
) -> timeseries.Panel:
    """Return a time series panel; `floor` is where its axis begins (None: where the data does)."""
    panel = timeseries.Panel().title(title).description(description).unit(unit).datasource(SOURCE)
    panel = panel.span(width).height(HEIGHT["chart"]).line_width(1).fill_opacity(0)
    panel = panel.show_points(options.VisibilityMode.NEVER).legend(_legend()).tooltip(_tooltip())
    if floor is not None:
        panel = panel.axis_soft_min(floor)
    for target in _targets(queries):
        panel = panel.with_target(target)
    return panel


def number(
    title: str, description: str, unit: str, expr: str, *, width: int = 4, red_from: float | None = None
) -> stat.Panel:
    """Return a panel of one number, the last; from `red_from` on it is red."""
    panel = stat.Panel().title(title).description(description).unit(unit).datasource(SOURCE)
    panel = panel.span(width).height(HEIGHT["stat"]).thresholds(_thresholds(red_from))
    panel = panel.graph_mode(options.BigValueGraphMode.AREA).color_mode(options.BigValueColorMode.VALUE)
    panel = panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"])).mappings(
        [_nan_in_words()]
    )
    for target in _targets((Query(expr, ""),)):
        panel = panel.with_target(target)
    return panel


def _targets(queries: tuple[Query, ...]) -> list[Dataquery]:
    return [
        Dataquery()
        .ref_id(chr(ord("A") + i))
        .datasource(SOURCE)
        .expr(query.expr)
        .legend_format(query.legend)
        .range()
        for i, query in enumerate(queries)
    ]


def _legend() -> common.VizLegendOptions:
    legend = common.VizLegendOptions().show_legend(show_legend=True)
    return legend.display_mode(options.LegendDisplayMode.LIST).placement(options.LegendPlacement.BOTTOM)


def _tooltip() -> common.VizTooltipOptions:
    return (
        common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING)
    )


def _thresholds(red_from: float | None) -> builders.ThresholdsConfig:
    steps = [models.Threshold(color="green")]
    if red_from is not None:
        steps.append(models.Threshold(value=red_from, color="red"))
    return builders.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)


def _nan_in_words() -> models.SpecialValueMap:
    """Regret is not a number until the best fixed point is certified: say so."""
    result = models.ValueMappingResult(text=_NOT_YET, color="text")
    matched = models.DashboardSpecialValueMapOptions(match=models.SpecialValueMatch.NA_N, result=result)
    return models.SpecialValueMap(options=matched)
