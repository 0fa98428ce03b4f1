"""What a person sees while waiting, and the tables at the end. Quiet where nobody looks."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

LONG_WORD = 12  # characters: of longer ones, the rest may go to the next line
BARE: Mapping[str, Any] = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "padding": 0}
"""What a table looks like where there is little room."""

# A folder's name may hold "[/x]" or ":tent:": nothing that is shown is markup.
out = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)


class Bar:
    """A bar that is shown while something goes on."""

    def __init__(self, bar: Progress, title: str, total: int) -> None:
        self._bar, self._title, self._task = bar, title, bar.add_task(title, total=total)

    def __call__(self, done: int) -> None:
        """Show how much is done."""
        self._bar.update(self._task, completed=done)

    @contextmanager
    def saying(self, title: str) -> Iterator[None]:
        """Show another title while the block runs, in which nothing is counted."""
        self._bar.update(self._task, description=title, refresh=True)
        yield
        self._bar.update(self._task, description=self._title)


@contextmanager
def progress_bar(title: str, total: int, unit: str = "rounds") -> Iterator[Bar]:
    """Show a bar on standard error while the block runs; yields what to call with how much is done."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        yield Bar(bar, title, total)


@contextmanager
def status(title: str) -> Iterator[Callable[[str], None]]:
    """Show a line that changes on standard error while the block runs; yields what to call with its end."""
    if not err.is_terminal:
        yield lambda _detail: None
        return
    with err.status(title) as line:
        yield lambda detail: line.update(f"{title} {detail}")


def warn(texts: Iterable[str]) -> None:
    """Say on standard error what somebody may not have meant."""
    for text in texts:
        err.print(f"warning: {text}")


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    out.print(make_table(title, header, rows))


def make_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table, words to the left and numbers to the right; without lines where there is no room."""
    columns = [_column(name, [row[position] for row in rows]) for position, name in enumerate(header)]
    least = 1 + sum(3 + (column.min_width or 0) for column in columns)
    looks = BARE if least > out.width else {}
    drawn = Table(*columns, title=title, title_justify="left", title_style="bold", **looks)
    for row in rows:
        drawn.add_row(*row)
    return drawn


def _column(name: str, cells: Sequence[str]) -> Column:
    """Return a column that breaks no number, and no word but a long one; it cuts no path."""
    numeric = all(cell[:1] in set("0123456789+-") for cell in cells)
    words = [word for text in (name, *cells) for word in text.split()]
    least = max((len(word) if numeric else min(len(word), LONG_WORD) for word in words), default=1)
    return Column(name, justify="right" if numeric else "left", overflow="fold", min_width=least)


def number(value: float | None, digits: int = 2) -> str:
    """Return a number for a table, "-" where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def print_json(document: Any) -> None:
    """Print a document as JSON, for programs: not through rich, which would wrap it."""
    print(json.dumps(document, indent=2))  # noqa: T201
