"""A document is safe to open, whatever the words in it, and its figures follow the theme."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

from edgefw.errors import InputError
from edgefw.experiments import plots
from edgefw.experiments.experiment import Claim
from edgefw.experiments.tables import Table
from edgefw.reports import document
from edgefw.reports.document import Document, Event, Fact, Picture, Section, Tile, inline_svg

if TYPE_CHECKING:
    from pathlib import Path

BAD = "<script>alert('&')</script>"


def picture(name: str = "one") -> Picture:
    lines = [plots.line(BAD, [(1, [1.0]), (2, [3.0])], colour) for colour in range(len(plots.COLOURS))]
    marks = [plots.Mark(1.5, 1), plots.Mark(1.5, 2, fault=True)]
    return Picture(plots.Drawing(name, [plots.Panel("t", "x", "y", lines, marks=marks)], "note"), BAD)


def test_words_are_words_wherever_they_stand() -> None:
    section = Section(
        BAD,
        words=[BAD],
        tiles=[Tile(BAD, BAD, BAD)],
        facts=[Fact(BAD, BAD)],
        verdicts=[Claim(BAD, None, BAD)],
        tables=[Table(BAD, [BAD], [[BAD]], BAD)],
        pictures=[picture()],
        events=[Event(1, BAD, BAD, fault=True)],
        code=BAD,
        files=[BAD],
    )
    html = Document(BAD, BAD, [BAD], [section], BAD).to_html()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 18


def test_no_colour_of_a_figure_is_fixed() -> None:
    text = inline_svg(picture()).lower()
    for colour in (*plots.COLOURS, plots.INK, plots.GRID, plots.PLAN, plots.FAULT):
        assert colour.lower() not in text
    assert "var(--c0)" in text
    assert "var(--bad)" in text


def test_marks_at_one_place_share_a_label() -> None:
    assert [text.get_text() for text in picture().figure.axes[0].texts] == ["1-2"]


def test_figures_are_beside_the_page_in_three_formats(tmp_path: Path) -> None:
    path = Document("t", "h", [], [Section("s", pictures=[picture("a")])]).write(tmp_path)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.pdf", "a.png", "a.svg", path.name]
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(document, "find_spec", lambda name: None if name == "jinja2" else there(name))
    with pytest.raises(InputError, match=r"a report needs jinja2: install edgefw\[figures\]"):
        document.require()
