"""Figures are defined once, and their sources have the names that whoever fills them uses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import page_client
import pytest
from bokeh.models import ColumnDataSource

from edgefw import page
from edgefw.delays.registry import TYPES
from edgefw.page.about import about, forms
from edgefw.page.figures import charts, document, written
from edgefw.page.prepare import FIGURES, prepared

SCRIPT = (Path(page.__file__).parent / "assets" / "charts.js").read_text(encoding="utf-8")


def test_the_committed_figures_are_what_the_code_writes() -> None:
    assert written() == FIGURES.read_text(encoding="utf-8"), "run `make figures` and commit what it writes"


@pytest.mark.parametrize("clock", ["wall", "rounds"])
def test_every_source_is_filled_by_the_page(clock: str) -> None:
    drawn = document(clock)
    sources = {source.name for source in drawn.select({"type": ColumnDataSource})}
    lines = {name for chart in charts(clock) for name in chart.lines}
    assert sources == lines | {"network", "events", "cursor"}
    listed = re.search(r"this\.lines = \[(.*?)\]", SCRIPT)
    assert listed is not None
    assert lines <= set(re.findall(r'"(\w+)"', listed[1]))


@pytest.mark.parametrize("clock", ["wall", "rounds"])
def test_events_are_marked_on_every_figure(clock: str) -> None:
    roots: list[Any] = document(clock).roots
    for root in roots:
        names = [renderer.data_source.name for renderer in root.renderers]
        assert {"events", "cursor"} <= set(names), root.name


@pytest.mark.parametrize("clock", ["wall", "rounds"])
def test_what_is_prepared_is_json_with_a_root_a_chart(clock: str) -> None:
    found = json.loads(json.dumps(prepared(page_client.scenario(4, clock=clock), clock), allow_nan=False))
    assert list(found["roots"]) == [chart["name"] for chart in found["charts"]]
    assert len(found["network"]["nodes"]) == 4
    assert {"light", "dark"} == set(found["themes"])


@pytest.mark.parametrize("clock", ["wall", "rounds"])
def test_there_is_a_form_for_every_fault_type(clock: str) -> None:
    found = {form["type"]: form for form in forms(clock)}
    assert set(found) == {name for name, type_ in TYPES.at_hand().items() if clock in type_.clocks}
    for name, form in found.items():
        own = {field["name"] for field in form["fields"] if field["own"]}
        assert own == set(TYPES[name].own_fields())
        assert set(form["example"]) <= own
        assert "duration" in {field["name"] for field in form["fields"]}
    json.dumps(about(page_client.scenario(clock=clock), live=True), allow_nan=False)
