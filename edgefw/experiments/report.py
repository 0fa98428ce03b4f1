"""What an experiment leaves behind: rows as CSV, verdicts, and where they are."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Cell = str | int | float | None


@dataclass(frozen=True)
class Verdict:
    """Whether a claim of the paper was met by our runs, and what says so."""

    claim: str
    holds: bool
    evidence: str


def prepare(out: Path) -> None:
    """Make the folder of the results before anything is computed for it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror}; give another --out") from None


def write_rows(path: Path, rows: Sequence[Mapping[str, Cell]]) -> Path:
    """Write rows with the same columns as CSV, whole or not at all; return the path."""
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    partial.replace(path)
    return path


def conclude(
    table: Path, rows: Sequence[Mapping[str, Cell]], drawn: Sequence[Path], verdicts: Sequence[Verdict]
) -> None:
    """Write an experiment's table and its verdicts, if any; print these and where everything is."""
    written = [write_rows(table, rows), *drawn]
    if verdicts:
        _say(verdicts)
        said = [{"claim": v.claim, "holds": str(v.holds), "evidence": v.evidence} for v in verdicts]
        written.append(write_rows(table.with_name("claims.csv"), said))
    terminal.out.print(f"Written: {', '.join(str(path) for path in written)}", markup=False)


def _say(verdicts: Sequence[Verdict]) -> None:
    terminal.out.print("Claims:", style="bold")
    for verdict in verdicts:
        word, style = ("holds", "green") if verdict.holds else ("FAILS", "bold red")
        terminal.out.print(word, style=style, end="  ")
        terminal.out.print(f"{verdict.claim}: {verdict.evidence}", markup=False)


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign, as the tables print changes.

    >>> signed(2.04), signed(-0.08, 2)
    ('+2.0', '-0.08')
    """
    return f"{round(value, digits) + 0.0:+.{digits}f}"  # + 0.0: no -0.0
