"""The whole paper in one report: every part, a verdict for every claim, "synthetic" where it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import fabricated
import pytest

from edgefw.cli import main
from edgefw.experiments.distributed import TABLE_2
from edgefw.experiments.distributed import scenario as scenario_of
from edgefw.experiments.published import TOTALS_2
from edgefw.experiments.size import Size
from edgefw.reports import reproduction
from edgefw.reports.reproduction import Part, document, play

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.reports.document import Document

pytestmark = [pytest.mark.xdist_group("reproduction"), pytest.mark.slow]  # so that its runs are made once

FULL = Size((1,))


@pytest.fixture(scope="module")
def parts() -> list[Part]:
    """All of it, twelve rounds long."""
    return play(fabricated.TINY, 1)


@pytest.fixture(scope="module")
def small(parts: list[Part]) -> Document:
    return document(parts, fabricated.TINY)


def test_every_part_is_there_with_its_figure_and_its_time(small: Document) -> None:
    drawn = [picture.drawing.name for section in small.sections for picture in section.pictures]
    assert drawn == ["figure4", "figure2", "figure3", "regret"]
    titles = [section.title for section in small.sections]
    assert titles[1:-1] == [
        "Table 1: what a round costs",
        *(f"{reproduction.TITLES[target]} [synthetic]" for target in [*reproduction.TITLES][1:]),
    ]
    for section in small.sections[1:-1]:
        assert re.match(r"Time taken: \d+\.\d s\.", section.words[0])


def test_synthetic_stands_on_everything_that_did_not_use_the_published_data(small: Document) -> None:
    assert small.stamp == "synthetic data in place of fashion-mnist, mnist"
    for section in small.sections[2:-1]:
        assert all("[synthetic, not " in table.title for table in section.tables)
        assert all(str(picture.drawing.stamp).startswith("synthetic") for picture in section.pictures)
    rows = small.sections[0].tables[0].rows
    assert [row[-1] for row in rows] == ["counts alone", *["synthetic"] * 5]


def test_a_quick_run_judges_counts_alone(small: Document) -> None:
    verdicts = [claim for section in small.sections for claim in section.verdicts]
    judged = [claim.claim for claim in verdicts if claim.holds is not None]
    assert judged == ["projection-free as Table 1 says"]
    assert len({claim.claim for claim in verdicts}) == len(verdicts) == 1 + 6 + 10 + 5
    assert small.headline.startswith("A quick run, T = 12 instead of 1000")


@pytest.mark.parametrize(("factor", "said"), [(1.0, "8 of 8"), (1.2, "3 of 8")])
def test_a_full_run_has_a_verdict_for_every_claim_and_ours_beside_theirs(factor: float, said: str) -> None:
    known = {"all": 2000.0, "none": 3000.0}
    runs = {
        cell: [
            fabricated.outcome(
                scenario_of(cell, FULL, 1),
                factor * known.get(cell.reading, TOTALS_2[cell.graph].get(cell.f, 0.0)),
            )
        ]
        for cell in TABLE_2.cases(FULL)
    }
    found = document([Part("table2", TABLE_2.report(runs, FULL), 3.0)], FULL)
    assert found.headline == f"{said} claims of the paper hold."
    assert found.stamp == ""
    section = found.sections[1]
    cycle = next(row for row in section.tables[0].rows if row[:2] == ["Cycle", "20"])
    assert cycle[5:] == ["1119.24", "+18.9", f"{100 * (factor - 1):+.1f}"]
    html = found.to_html()
    assert html.count('"badge good"') == int(said[0])
    assert html.count('"badge bad"') == 8 - int(said[0])


def test_the_command_writes_one_report_and_all_numbers(
    parts: list[Part], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduction, "make_size", lambda **_: fabricated.TINY)
    monkeypatch.setattr(reproduction, "play", lambda _size, _jobs: parts)
    assert main(["reproduce", "all", "--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert f"report: {(tmp_path / 'report.html').as_uri()}" in printed
    assert printed.count("Data set mnist is not on this machine") == 1
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names)) > 100
    links = re.findall(r'<a href="([^"]*)"', page)
    assert all((tmp_path / link).stat().st_size > 100 for link in links)
    assert {f"{target}.csv" for target in reproduction.TITLES} <= set(links)
    assert (tmp_path / "claims.csv").read_text(encoding="utf-8").startswith("part,claim,holds,evidence")


def test_an_unknown_target_is_answered_with_all_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "al"]) == 2
    assert "did you mean 'all'" in capsys.readouterr().err


def test_a_full_run_without_its_data_is_refused_before_anything_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "all", "--out", str(tmp_path)]) == 2
    assert "edgefw data fetch" in capsys.readouterr().err
