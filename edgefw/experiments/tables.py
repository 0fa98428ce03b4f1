"""A table, as a terminal prints it and a page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Table:
    """Rows of words and numbers below a header; the note says what the columns are."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def show(self) -> None:
        """Print it."""
        terminal.table(self.title, self.header, self.rows)
        if self.note:
            terminal.out.print(self.note)
