"""A report as one HTML file that needs nothing else: sections of words, tables and figures.

Figures stand in it as SVG. They need no program in the browser, can be printed, take a tenth of what a chart
library takes, and are the same as the files beside the report. Their colours are those of the page's theme.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.errors import InputError
from edgefw.experiments import experiment, plots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from edgefw.experiments.experiment import Claim
    from edgefw.experiments.tables import Table

_ASSETS = Path(__file__).parent / "assets"
_NAMED = {plots.INK: "text", plots.SOFT: "soft", plots.GRID: "line", plots.MUTED: "muted"}
_NAMED |= {plots.PLAN: "plan", plots.FAULT: "bad"}
_NAMED |= {colour: f"c{number}" for number, colour in enumerate(plots.COLOURS)}
_PROLOGUE = re.compile(r"^.*?(?=<svg )|<metadata>.*?</metadata>", re.DOTALL)
_ID = re.compile(r'(\bid="|url\(#|href="#)')
_PIXELS = 108  # of a page, for an inch of a figure at most
_SIZE = re.compile(r'(<svg [^>]*?) width="[^"]*"([^>]*?)>')


@dataclass(frozen=True)
class Fact:
    """A name and what it stands for."""

    name: str
    value: str


@dataclass(frozen=True)
class Tile:
    """A number that is seen first; `tone` is good, bad, or nothing of the kind."""

    name: str
    value: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, and in words what it shows: for who cannot see it, too."""

    drawing: plots.Drawing
    caption: str

    @cached_property
    def figure(self) -> Figure:
        """The figure, drawn once for all files."""
        return plots.draw(self.drawing)


@dataclass(frozen=True)
class Event:
    """Something that happened, by its number on the curves."""

    number: int
    when: str
    text: str
    fault: bool


@dataclass(frozen=True)
class Section:
    """A part of a report; what it has is shown in the order of its fields."""

    title: str
    words: Sequence[str] = ()
    tiles: Sequence[Tile] = ()
    facts: Sequence[Fact] = ()
    verdicts: Sequence[Claim] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    events: Sequence[Event] = ()
    code: str = ""
    files: Sequence[str] = ()
    level: int = 2


@dataclass(frozen=True)
class Document:
    """A report: what it is about, what it comes to in a sentence, and its sections."""

    title: str
    headline: str
    lead: Sequence[str]
    sections: Sequence[Section]
    stamp: str = ""  # what has to be known of everything in it, such as that data are made up

    def write(self, out: Path, name: str = "report.html") -> Path:
        """Write the report and, beside it, every figure as PNG, SVG and PDF."""
        html = self.to_html()
        for section in self.sections:
            for picture in section.pictures:
                plots.save_figure(picture.figure, out, picture.drawing.name)
        path = out / name
        partial = path.with_name(f"{name}.partial")
        partial.write_text(html, encoding="utf-8")
        partial.replace(path)
        return path

    def to_html(self) -> str:
        """Return the report as HTML."""
        require()
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - may not be there

        environment = Environment(
            loader=FileSystemLoader(_ASSETS),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["svg"] = inline_svg
        style = (_ASSETS / "report.css").read_text(encoding="utf-8")
        return environment.get_template("report.html").render(document=self, style=style)


def require() -> None:
    """Fail where no report can be made, before minutes are spent on what it would show."""
    plots.require()
    if find_spec("jinja2") is None:
        raise InputError("a report needs jinja2: install edgefw[figures] (pip install 'edgefw[figures]')")


def prepare(out: Path) -> None:
    """Make the folder of a report before anything is computed for it."""
    require()
    experiment.prepare(out)


def inline_svg(picture: Picture) -> str:
    """Return a figure as SVG inside a page: in the colours of its theme, no name of it used twice."""
    text = _PROLOGUE.sub("", plots.svg_text(picture.figure))
    text = _ID.sub(rf"\g<1>{picture.drawing.name}-", text)
    width = _PIXELS * float(picture.figure.get_figwidth())
    own = rf'\1\2 style="max-width: {width:.0f}px" aria-hidden="true" focusable="false">'
    text = _SIZE.sub(own, text, count=1)
    for colour, name in _NAMED.items():
        text = text.replace(colour.lower(), f"var(--{name})")
    return text
