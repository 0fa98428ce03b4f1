"""Writes the dashboards that Grafana is provisioned with, from panels.py and rows/.

python docker/grafana/build.py [--out DIR]        then commit what has changed in docker/grafana/dashboards
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models
from panels import SOURCE
from rows import rows

DATA_SOURCE_UID = "edgefw-prometheus"  # that of provisioning/datasources


def main() -> None:
    """Write every dashboard as JSON."""
    parser = argparse.ArgumentParser(description="Write the Grafana dashboards.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "dashboards", metavar="DIR")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    built = json.loads(json.dumps(overview().build(), cls=JSONEncoder))
    _drop(built["templating"]["list"], "auto", "auto_count", "auto_min")  # of interval variables: not ours
    _drop(
        built["annotations"]["list"], "placement"
    )  # out of sight, in a menu that Grafana 12.1 does not have
    text = json.dumps(built, indent=1, sort_keys=True)  # small changes stay small in a diff
    (folder / "edgefw.json").write_text(text + "\n", encoding="utf-8")


def _drop(items: list[dict[str, object]], *fields: str) -> None:
    """Take out what the SDK writes on its own account."""
    for item in items:
        for field in fields:
            del item[field]


def overview() -> builders.Dashboard:
    """Return the dashboard of a run."""
    board = builders.Dashboard("edgefw").uid("edgefw").tags(["edgefw"]).readonly()
    board = board.description("A network of edge devices that learn online from late feedback.")
    board = board.time("now-15m", "now").refresh("5s").timezone("browser")
    board = board.tooltip(models.DashboardCursorSync.CROSSHAIR)
    board = board.with_variable(_data_source()).with_variable(_agent()).annotation(_plan_changes())
    identifier = 0
    for title, panels in rows().items():
        identifier += 1
        board = board.with_row(builders.Row(title).id(identifier))
        for panel in panels:
            identifier += 1
            board = board.with_panel(panel.id(identifier))
    return board


def _data_source() -> builders.DatasourceVariable:
    current = models.VariableOption(text="Prometheus", value=DATA_SOURCE_UID)
    variable = builders.DatasourceVariable("datasource").label("Data source").type("prometheus")
    return variable.current(current)


def _agent() -> builders.QueryVariable:
    query: dict[str, object] = {"query": "label_values(edgefw_agent_round, agent)", "refId": "agent"}
    variable = builders.QueryVariable("agent").label("Agent").datasource(SOURCE).query(query)
    variable = variable.sort(models.VariableSort.NUMERICAL_ASC)
    variable = variable.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED).multi(multi=True)
    return (
        variable.include_all(include_all=True)
        .all_value(".*")
        .current(models.VariableOption(text=["All"], value=["$__all"]))
    )


def _plan_changes() -> builders.AnnotationQuery:
    """Mark every change of the delay plan on every chart, when it was made, and say what it was."""
    changes = Dataquery().ref_id("plan").datasource(SOURCE).interval("1s").range()
    changes = changes.expr("edgefw_broker_plan_changed_timestamp_seconds * 1000")  # Grafana's milliseconds
    annotation = builders.AnnotationQuery().name("Delay plan").datasource(SOURCE).enable(enable=True)
    annotation = annotation.icon_color("orange").target(changes).use_value_for_time(use_value_for_time=True)
    return annotation.title_format("Delay plan: {{what}} {{fault}}").text_format("agent {{agent}}")


if __name__ == "__main__":
    main()
