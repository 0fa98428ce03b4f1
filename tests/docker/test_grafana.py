"""The dashboards are what build.py writes, fit Grafana's published schema, and keep its linter's rules."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from dashboards import FOLDER, dashboards, filled, marks, panels, queries
from exported import TARGET_LABELS, exported
from grafana_foundation_sdk.models import units
from promql import reads

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "docker" / "grafana"
SCHEMAS = json.loads((GRAFANA / "schema" / "schema.json").read_text(encoding="utf-8"))
DASHBOARDS = dashboards()
PANELS = [(name, panel) for name, board in DASHBOARDS.items() for panel in panels(board)]
QUERIES = [
    pytest.param(target["expr"], id=f"{panel['title']}-{target['refId']}")
    for _, panel in PANELS
    for target in panel["targets"]
]
ANNOTATIONS = [
    pytest.param(annotation["target"]["expr"], id=annotation["name"])
    for board in DASHBOARDS.values()
    for annotation in board["annotations"]["list"]
]
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COUNTER_ENDS = ("_total", "_count", "_sum", "_bucket")

each_dashboard = pytest.mark.parametrize("board", DASHBOARDS.values(), ids=list(DASHBOARDS))
each_panel = pytest.mark.parametrize("panel", [p for _, p in PANELS], ids=[p["title"] for _, p in PANELS])


def test_the_committed_dashboards_are_what_the_code_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, GRAFANA / "build.py", "--out", tmp_path], check=True)
    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    committed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert written == committed, "run docker/grafana/build.py and commit what it writes"


@each_dashboard
def test_a_dashboard_fits_the_published_schema(board: dict[str, Any]) -> None:
    described = copy.deepcopy(board)
    for annotation in described["annotations"]["list"]:
        # The schema knows only Grafana's own annotations: a query on Prometheus has another form.
        for field in ("target", "titleFormat", "textFormat", "useValueForTime"):
            del annotation[field]
    _validate("dashboard", described)


@each_panel
def test_a_panel_fits_the_published_schema_of_its_kind(panel: dict[str, Any]) -> None:
    assert panel["type"] in {"stat", "timeseries"}, "add its schema to docker/grafana/schema/make.sh"
    _validate(f"{panel['type']}.options", panel["options"])
    if panel["type"] == "timeseries":
        _validate("timeseries.fields", panel["fieldConfig"]["defaults"]["custom"])


def _validate(schema: str, document: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    errors = jsonschema.Draft7Validator(SCHEMAS[schema]).iter_errors(document)
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


def test_the_schema_is_that_of_the_grafana_that_is_started() -> None:
    image = re.search(r"\bimage: *grafana/grafana:(\S+)", (ROOT / "compose.yaml").read_text(encoding="utf-8"))
    assert image is not None
    assert f"@grafana/schema {image[1]} " in SCHEMAS["$comment"], "run docker/grafana/schema/make.sh"


def test_the_schema_refuses_what_is_wrong() -> None:
    board = copy.deepcopy(next(iter(DASHBOARDS.values())))
    board["annotations"]["list"] = []
    board["panels"][1]["unheard"] = True
    with pytest.raises(AssertionError, match="unheard"):
        _validate("dashboard", board)


@each_dashboard
def test_a_dashboard_has_the_rows_of_the_design(board: dict[str, Any]) -> None:
    rows = [panel["title"] for panel in board["panels"] if panel["type"] == "row"]
    assert rows == ["Overview", "Learning", "Broker", "Agents", "Faults of the network", "Runtime"]


@each_dashboard
def test_panels_have_ids_of_their_own_and_do_not_overlap(board: dict[str, Any]) -> None:
    identifiers = [panel["id"] for panel in board["panels"]]
    assert len(set(identifiers)) == len(identifiers)
    cells = [cell for panel in board["panels"] for cell in _cells(panel["gridPos"])]
    assert len(set(cells)) == len(cells)
    assert all(0 <= x < 24 for x, _ in cells)


def _cells(place: dict[str, int]) -> list[tuple[int, int]]:
    return [
        (place["x"] + column, place["y"] + row) for column in range(place["w"]) for row in range(place["h"])
    ]


@each_dashboard
def test_a_dashboard_cannot_be_edited_by_accident(board: dict[str, Any]) -> None:
    assert board["editable"] is False
    assert board.get("id") is None, "an id belongs to one Grafana"


@each_dashboard
def test_data_source_and_agents_are_variables(board: dict[str, Any]) -> None:
    source, agent = board["templating"]["list"]
    assert (source["name"], source["type"], source["query"]) == ("datasource", "datasource", "prometheus")
    assert source["label"] == "Data source"
    assert (agent["name"], agent["type"], agent["datasource"]) == ("agent", "query", SOURCE)
    assert agent["multi"] is agent["includeAll"] is True
    assert agent["refresh"] == 2, "new agents appear when the time range moves on"


@each_panel
def test_a_panel_has_a_title_a_description_and_a_unit_that_grafana_knows(panel: dict[str, Any]) -> None:
    assert panel["title"].strip()
    assert len(panel["description"]) > 20
    known = {
        value for name, value in vars(units).items() if not name.startswith("_") and isinstance(value, str)
    }
    assert panel["fieldConfig"]["defaults"]["unit"] in known


@each_panel
def test_a_panel_asks_the_data_source_of_the_variable(panel: dict[str, Any]) -> None:
    assert panel["targets"], "a panel without a query"
    assert [panel["datasource"], *(target["datasource"] for target in panel["targets"])] == [SOURCE] * (
        1 + len(panel["targets"])
    )


@pytest.mark.parametrize("expression", [*QUERIES, *ANNOTATIONS])
def test_counters_are_rated_over_grafanas_interval_and_nothing_else_is(expression: str) -> None:
    for read in reads(filled(expression)):
        if read.name.startswith(("edgefw_", "process_")):
            assert (read.function in {"rate", "increase"}) is read.name.endswith(COUNTER_ENDS), read
    assert expression.count("[") == expression.count("[$__rate_interval]"), "a range of fixed length"


@pytest.mark.parametrize("expression", [*QUERIES, *ANNOTATIONS])
def test_what_a_query_reads_is_exported_and_has_the_labels_that_it_matches(expression: str) -> None:
    for read in reads(filled(expression)):
        assert read.name in exported(), f"no service exports {read.name}"
        assert read.labels <= exported()[read.name], f"{read.name} has no such labels"


@each_dashboard
def test_the_agent_variable_is_read_off_a_series_that_agents_export(board: dict[str, Any]) -> None:
    query = board["templating"]["list"][1]["query"]["query"]
    assert query.startswith("label_values(")
    series, label = query.removeprefix("label_values(").removesuffix(")").split(", ")
    assert label in exported()[series]


@each_dashboard
def test_every_change_of_the_delay_plan_is_marked_when_it_was_made_and_says_what_it_was(
    board: dict[str, Any],
) -> None:
    (annotation,) = board["annotations"]["list"]
    ((_, query),) = marks(board)
    (read,) = reads(query)
    assert read.name == "edgefw_broker_plan_changed_timestamp_seconds"
    assert query.endswith("* 1000"), "Grafana takes it for milliseconds"
    assert annotation["useValueForTime"] is True
    named = re.findall(r"{{(\w+)}}", annotation["titleFormat"] + annotation["textFormat"])
    assert {*named} == exported()[read.name] - TARGET_LABELS


@each_dashboard
def test_the_pace_that_was_asked_for_and_that_is_reached_are_in_one_panel(board: dict[str, Any]) -> None:
    asked = [query for panel, query in queries(board) if panel["title"] == "Pace asked for and reached"]
    assert [read.name for query in asked for read in reads(query)] == [
        "edgefw_network_pace_asked_seconds",
        "edgefw_network_pace_reached_seconds",
    ]


@each_panel
def test_a_regret_is_named_for_what_it_is_before_the_end(panel: dict[str, Any]) -> None:
    shown = {read.name for target in panel["targets"] for read in reads(filled(target["expr"]))}
    if shown & {"edgefw_agent_regret", "edgefw_network_regret"}:
        assert panel["title"].endswith(", at least")
        assert "lower bound" in panel["description"]


@each_panel
def test_a_panel_of_what_a_healthy_run_has_not_says_so(panel: dict[str, Any]) -> None:
    shown = {read.name for target in panel["targets"] for read in reads(filled(target["expr"]))}
    if any(name.endswith(("_rejected_total", "_connects_total")) for name in shown):
        assert "healthy run" in panel["description"]


@each_dashboard
def test_every_metric_of_the_learning_problem_is_on_the_dashboard(board: dict[str, Any]) -> None:
    shown = {read.name for _, query in queries(board) for read in reads(query)}
    assert {"edgefw_agent_regret", "edgefw_agent_total_delay_rounds", "edgefw_network_regret"} <= shown


@each_dashboard
def test_what_is_missing_is_shown_beside_what_has_come(board: dict[str, Any]) -> None:
    shown = {panel["title"]: {read.name for read in reads(query)} for panel, query in queries(board)}
    titles = list(shown)
    came, missing = (titles.index(title) for title in ("Delay of feedback", "Oldest missing feedback"))
    assert missing == came + 1
    assert shown["Oldest missing feedback"] == {"edgefw_agent_oldest_feedback_age_rounds"}
    assert "edgefw_broker_dropped_total" in set().union(*shown.values())


@each_dashboard
def test_rounds_played_and_recorded_are_in_one_panel(board: dict[str, Any]) -> None:
    asked = [query for panel, query in queries(board) if panel["title"] == "Rounds played and recorded"]
    assert {read.name for query in asked for read in reads(query)} == {
        "edgefw_agent_round",
        "edgefw_network_round",
    }


def test_the_provisioned_data_source_is_the_one_that_dashboards_start_with() -> None:
    (source,) = _provisioned("datasources")["datasources"]
    assert (source["uid"], source["type"], source["editable"]) == ("edgefw-prometheus", "prometheus", False)
    for board in DASHBOARDS.values():
        assert board["templating"]["list"][0]["current"]["value"] == source["uid"]


def test_grafanas_smallest_step_is_the_time_between_scrapes() -> None:
    config = yaml.safe_load((GRAFANA.parent / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))
    (source,) = _provisioned("datasources")["datasources"]
    assert source["jsonData"]["timeInterval"] == config["global"]["scrape_interval"]


def test_provisioned_dashboards_are_deleted_and_changed_by_nobody() -> None:
    (provider,) = _provisioned("dashboards")["providers"]
    assert (provider["disableDeletion"], provider["allowUiUpdates"]) == (True, False)


def _provisioned(kind: str) -> dict[str, Any]:
    (path,) = (GRAFANA / "provisioning" / kind).glob("*.yml")
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document
