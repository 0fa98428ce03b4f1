"""The report of a run: what it says was late and lost is what was late and lost."""

from __future__ import annotations

import csv
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import recorded_run
from browser import opened

import edgefw
from edgefw.cli import main
from edgefw.prompt import without_delays
from edgefw.records import RunFolder
from edgefw.reports import run_report, told
from edgefw.reports.run_figures import histograms, pictures

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.reports.told import Told

pytestmark = [
    pytest.mark.xdist_group("report"),  # so that its runs are made once
    pytest.mark.timeout(300),  # ... by whichever test comes first: all of a report, on a busy machine
]

FIELDS: dict[str, Any] = {
    "clock": "rounds",
    "pace": "asap",
    "data.source": "synthetic",
    "data.samples": 400,
    "data.features": 60,
    "data.classes": 4,
    "algorithm.horizon": 60,
    "delays": [
        {"type": "rounds", "agents": [3], "rounds": 9},
        {"type": "rounds", "agents": [6], "rounds": 4},
    ],
    "events": [{"type": "blackout", "agents": [1], "at": 20, "duration": 10}],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> edgefw.Run:
    """Eight agents, of which two are late all the time and one is cut off for a while."""
    return edgefw.simulate(edgefw.scenario("default", FIELDS), out=tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def known(run: edgefw.Run) -> Told:
    return told.tell(_folder(run), verify=True)


@pytest.fixture(scope="module")
def page(run: edgefw.Run) -> Path:
    """What the command writes."""
    assert main(["report", str(run.path)]) == 0
    return _folder(run).path / "report" / "report.html"


def _folder(run: edgefw.Run) -> RunFolder:
    assert run.path is not None
    return RunFolder(run.path)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _words(page: Path) -> str:
    """Return what a reader sees, without figures."""
    text = re.sub(r"<(svg|style)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_the_cost_is_the_distance_in_regret_from_the_run_without_delays(
    run: edgefw.Run, known: Told, page: Path
) -> None:
    prompt = edgefw.simulate(edgefw.scenario(run.scenario, {"delays": [], "events": []}))
    cost = run.loss.sum(axis=0).max() - prompt.loss.sum(axis=0).max()
    late, free = run.summary.network_regret, prompt.summary.network_regret
    gap = run.summary.comparator_gap
    assert late is not None
    assert free is not None
    assert gap is not None
    assert known.cost == pytest.approx(cost)
    assert cost == pytest.approx(late - free, abs=gap)  # each knows the best fixed point as well as it must
    assert cost > 2 * gap
    words = f"Late feedback cost {cost:.1f} in regret against the same run without delays: {late:.1f} instead"
    assert f"{words} of {late - cost:.1f}" in _words(page)
    by_agent = [float(row["cost"]) for row in _rows(page.with_name("agents.csv"))]
    np.testing.assert_allclose(by_agent, (run.loss - prompt.loss).sum(axis=0), atol=1e-9)


def test_the_run_without_delays_keeps_the_rate_that_was_played(tmp_path: Path) -> None:
    fields = {
        "network.agents": 1,
        "network.topology": "complete",
        "algorithm.name": "delmfw",
        "delays": [{"type": "rounds", "rounds": 9}],
        "events": [],
    }
    run = edgefw.simulate(edgefw.scenario("default", FIELDS | fields), out=tmp_path / "run", regret=False)
    prompt = without_delays(run.scenario, run.summary.rate)
    assert run.scenario.algorithm.rate is None
    assert prompt.algorithm.rate == run.summary.rate == pytest.approx(1 / np.sqrt(9 * 60))
    expected = run.loss.sum() - edgefw.simulate(prompt, regret=False).loss.sum()
    assert told.tell(_folder(run), verify=False).cost == pytest.approx(expected)


def test_those_who_were_late_are_named_the_latest_first(known: Told, page: Path) -> None:
    assert known.late == [3, 6, 1]
    assert "Agents 1, 3, 6 were late: a feedback of agent 3 was on its way for 8.4 rounds" in _words(page)
    rows = _rows(page.with_name("agents.csv"))
    assert [int(row["never_used"]) for row in rows] == [0, 0, 0, 8, 0, 0, 3, 0]
    assert [float(row["longest_delay"]) for row in rows] == [1, 11, 1, 9, 1, 1, 4, 1]


def test_every_change_of_the_plan_is_marked_on_every_curve_and_listed(known: Told, page: Path) -> None:
    for picture in pictures(known):
        (panel,) = picture.drawing.panels
        assert [(mark.x, mark.number, mark.fault) for mark in panel.marks] == [(20, 1, False), (30, 2, False)]
        labels = [text.get_text() for text in picture.figure.axes[0].texts]
        assert labels == ["1", "2"]
    assert [row["round"] for row in _rows(page.with_name("events.csv"))] == ["20", "30"]
    assert re.search(r"1 round 20 agent 1: blackout at=20 duration=10 begins", _words(page))


def test_the_histogram_counts_every_feedback_of_late_agents(known: Told) -> None:
    delays, queues = (picture.drawing.panels[0] for picture in histograms(known))
    used = np.isfinite(known.history.delay[:, known.late]).sum()
    assert sum(bars.heights.sum() for bars in delays.bars) == used
    assert sum(bars.heights.sum() for bars in queues.bars) == 60 * 3


def test_the_page_is_one_file_that_needs_no_other(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert page.stat().st_size < 2 * 10**6
    assert not re.search(r"<script|<img|<link[^>]+stylesheet|@import|url\((?!#)", text)
    links = re.findall(
        r'(?:src|href)="(?!#|data:)([^"]*)"', re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)
    )
    assert links
    assert all((page.parent / link).stat().st_size > 0 for link in links)
    names = re.findall(r'\bid="([^"]+)"', text)
    assert len(names) == len(set(names))


def test_a_simulated_run_has_no_plays_to_verify(page: Path) -> None:
    assert "a simulated run is a function of its scenario: simulate it again" in _words(page)


def test_a_browser_shows_it_to_everybody_and_asks_nobody(page: Path) -> None:
    with opened() as browser:
        for width, theme in ((1280, "light"), (400, "dark")):
            with browser.visiting(page.as_uri(), width=width, theme=theme, ready="figure svg") as visit:
                assert visit.page.locator("figure svg").count() == 7
                assert visit.page.evaluate("() => document.documentElement.scrollWidth") <= width
                assert visit.faults() == []
                assert (visit.complaints, visit.foreign) == ([], set())


def test_a_true_record_is_verified_and_a_forged_one_is_said_to_be_none(tmp_path: Path) -> None:
    folder = recorded_run.recorded(tmp_path / "run")
    assert told.tell(folder, verify=True).verdict.holds is True
    with closing(sqlite3.connect(folder.path / "run.sqlite")) as database, database:
        database.execute("UPDATE plays SET hash = replace(hash, '0', '1') WHERE round = 5")
    found = told.tell(folder, verify=True)
    assert found.verdict.holds is False
    assert "is not what the replay gives: first at round 5" in found.verdict.evidence
    words = [tile.value for section in run_report.document([found]).sections for tile in section.tiles]
    assert words[-1] == "not true"


def test_other_data_than_the_runs_say_nothing_about_its_cost(tmp_path: Path) -> None:
    folder = recorded_run.recorded(tmp_path / "run")
    text = folder.scenario_path.read_text(encoding="utf-8")
    folder.scenario_path.write_text(text.replace("samples: 300", "samples: 301"), encoding="utf-8")
    found = told.tell(folder, verify=False)
    assert found.cost is None
    words = run_report.headline(found)
    assert words.startswith("Agents 1, 2 were late. What that cost is not known: the run learned from other")


def test_a_run_in_which_nobody_is_late_costs_nothing(tmp_path: Path) -> None:
    fields = FIELDS | {"delays": [], "events": [], "algorithm.stop_after": 5}
    run = edgefw.simulate(edgefw.scenario("default", fields), out=tmp_path / "run")
    found = told.tell(_folder(run), verify=False)
    assert (found.cost, found.late) == (0.0, [])
    assert run_report.headline(found) == f"Nobody was late: the network's regret is {found.regret:.1f}."


def test_of_many_late_agents_the_range_is_drawn(tmp_path: Path) -> None:
    fields = {"network.agents": 30, "algorithm.stop_after": 12, "events": []}
    fields["delays"] = [{"type": "rounds", "agents": list(range(9)), "rounds": 4}]
    run = edgefw.simulate(edgefw.scenario("default", FIELDS | fields), out=tmp_path / "run", regret=False)
    found = told.tell(_folder(run), verify=False)
    assert len(found.late) == 9
    for picture in pictures(found):
        lines = {line.label: line.values.shape for line in picture.drawing.panels[0].lines}
        if picture.drawing.name in {"cost", "queue"}:
            assert lines["late agents, mean and range"][0] == 9
            assert lines["the others, mean and range"][0] == 21


def test_several_runs_stand_side_by_side(known: Told, tmp_path: Path) -> None:
    other = told.tell(recorded_run.recorded(tmp_path / "other"), verify=False)
    overview, *sections = run_report.document([known, other]).sections
    assert [row[0] for row in overview.tables[0].rows] == ["1. default", "2. playback"]
    names = [picture.drawing.name for section in sections for picture in section.pictures]
    assert len(names) == len(set(names))
    assert {"run-1-cost", "run-2-cost"} < set(names)


def test_a_folder_without_a_run_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "holds no run: give the folder of a run" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_not_written_is_refused() -> None:
    run = edgefw.simulate(edgefw.scenario("default", FIELDS | {"algorithm.stop_after": 2}), regret=False)
    with pytest.raises(edgefw.EdgefwError, match=r"simulate it with out=\.\.\."):
        edgefw.report(run)
    with pytest.raises(edgefw.EdgefwError, match="a report needs a run"):
        edgefw.report()
