"""The page on the run folder names what a run leaves, and its examples work."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from emulated import REPORT, Emulated
from small_options import small

from edgefw.cli import main
from edgefw.records import DATABASE, SUMMARY, RunFolder

pytestmark = pytest.mark.xdist_group("run folder")  # so that its runs are made once
PAGE = (Path(__file__).parents[2] / "docs" / "run-folder.md").read_text(encoding="utf-8")
SMALL = small("algorithm.stop_after=5")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run as arrays."""
    out = tmp_path_factory.mktemp("simulated") / "run"
    main(["simulate", "default", *SMALL, "--out", str(out)])
    return out


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run as processes."""
    run = Emulated(tmp_path_factory.mktemp("emulated"), "--headless", REPORT)
    try:
        run.run()
        assert f"report: {(run.path / 'report' / 'report.html').as_uri()}" in run.out()
    finally:
        run.close()
    return run.path


def _first_cells(heading: str) -> set[str]:
    """Return what stands in the first column of the first table below a heading."""
    below = PAGE.split(f"{heading}\n", 1)[1].split("\n## ")[0].split("\n### ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", below, re.MULTILINE))


def test_every_file_of_a_run_is_on_the_page(simulated: Path, emulated: Path) -> None:
    named = {name.rstrip("/") for name in _first_cells("# The run folder")}
    found = {path.name for folder in (simulated, emulated) for path in folder.iterdir()}
    assert found == named - {"journal.sqlite"}


def test_every_key_of_meta_is_on_the_page(simulated: Path, emulated: Path) -> None:
    found = {key for folder in (simulated, emulated) for key in RunFolder(folder).meta()}
    assert found == _first_cells("### The keys of `meta`")


def test_every_field_of_the_summary_is_on_the_page(emulated: Path) -> None:
    summary = json.loads((emulated / SUMMARY).read_text(encoding="utf-8"))
    assert {*summary, *summary["per_agent"][0]} == _first_cells(f"## `{SUMMARY}`")


def test_the_queries_on_the_page_give_what_the_summary_says(emulated: Path) -> None:
    summary = json.loads((emulated / SUMMARY).read_text(encoding="utf-8"))
    by_agent, by_round, changes, missed = re.findall(r"(SELECT .*?)['\"]", PAGE)
    with closing(sqlite3.connect(emulated / DATABASE)) as database:
        losses = dict(database.execute(by_agent))
        total = sum(loss for _, loss in database.execute(by_round))
        assert [what for *_, what in database.execute(changes)] == ["the broker begins with it"]
        assert database.execute(missed).fetchall() == []  # it was run as fast as it goes
    assert losses == pytest.approx({each["agent"]: each["cumulative_loss"] for each in summary["per_agent"]})
    assert total == pytest.approx(summary["total_loss"])
