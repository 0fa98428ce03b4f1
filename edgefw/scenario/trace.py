"""Delays from a file: one value a line, or the first column of a CSV.

Times have a unit (750ms), rounds are whole numbers. Lines that are empty or begin with '#' do not count, nor
does a first line that holds no value: a header.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefw.delays.drawn import LONGEST_TRACE, Drawn
from edgefw.delays.registry import TYPES
from edgefw.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DRAWN = {name: each for name, each in TYPES.items() if issubclass(each, Drawn)}


def read_trace(path: str | Path, kind: str) -> list[Any]:
    """Return the values of a trace file as a scenario writes them: texts of a latency, numbers of rounds.

    `kind` is the type of fault that it is for.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            values = list(_values(lines, str(path), kind))
    except FileNotFoundError:
        raise InputError(f"there is no trace file {path}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text: a trace has one value a line") from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise InputError(f"cannot read {path} ({getattr(error, 'strerror', None) or error})") from None
    if not values:
        raise InputError(f"{path} holds no value: write {_DRAWN[kind].value}, one a line")
    return values


def resolve_traces(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a scenario document with its trace files, whose paths begin at `folder`, read."""
    resolved = dict(document)
    for where in ("delays", "events"):
        faults = document.get(where)
        if isinstance(faults, list):
            resolved[where] = [
                _resolved(fault, f"{where}.{position}", folder) for position, fault in enumerate(faults)
            ]
    return resolved


def resolve_trace(fault: Any, folder: Path) -> Any:
    """Return a fault, its trace read; what is not a fault with a file is left to whoever validates it."""
    if not isinstance(fault, dict) or fault.get("type") not in tuple(_DRAWN):  # a type may be a list, too
        return fault
    if isinstance(own := fault.get("attributes"), dict):
        return {**fault, "attributes": _with_values(own, fault["type"], folder)}
    return _with_values(fault, fault["type"], folder)


def _with_values(own: dict[str, Any], kind: str, folder: Path) -> dict[str, Any]:
    if not isinstance(name := own.get("trace"), str):
        return own
    try:
        return {**own, "trace": read_trace(folder / name, kind)}
    except InputError as error:
        raise InputError(f"trace: {error}", "trace") from None


def _resolved(fault: Any, place: str, folder: Path) -> Any:
    try:
        return resolve_trace(fault, folder)
    except InputError as error:
        raise error.within(place) from None


def _values(lines: Iterable[str], source: str, kind: str) -> Iterator[Any]:
    """Yield the values of a file."""
    rows = csv.reader(lines, skipinitialspace=True)
    found, header = 0, False
    for text in _first_column(rows, source):
        value = _DRAWN[kind].read(text)
        if value is None:
            if found or header or not text[0].isalpha():
                raise InputError(f"{source}, line {rows.line_num}: {text[:40]!r} is not {_DRAWN[kind].value}")
            header = True
        elif found == LONGEST_TRACE:
            raise InputError(f"{source}, line {rows.line_num}: a trace has {LONGEST_TRACE:,} values at most")
        else:
            found += 1
            yield value


def _first_column(rows: Any, source: str) -> Iterator[str]:
    """Yield what stands first in every line of a CSV that is neither empty nor a comment."""
    try:
        for row in rows:
            text = row[0].strip() if row else ""
            if text and not text.startswith("#"):
                yield text
    except csv.Error as error:
        raise InputError(f"{source}, line {rows.line_num}: {error}") from None
