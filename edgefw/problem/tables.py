"""Samples in files of one's own: npz, npy, CSV and Parquet; features are numbers, targets classes or numbers.

A table (CSV, Parquet, a two-dimensional npy) has one sample a row: one of its columns is the target, all
others are features. An npz has an array of features and one of targets.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from edgefw.errors import DataError, unknown
from edgefw.problem.dataset import REAL, Dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

MOST_CLASSES = 1000
"""Whole numbers of more different values than this are real targets, unless the user says otherwise."""

_FEATURES, _TARGETS = ("features", "X", "x", "x_train"), ("labels", "y", "y_train", "targets")
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class FileContents:
    """What a file holds: features (N, m) as they come, targets (N,) as numbers or texts."""

    features: NDArray[Any]
    targets: NDArray[Any]


def is_file(source: str) -> bool:
    """Whether a source is named like a file that can be read here."""
    return source.lower().endswith(tuple(_READERS))


def read(path: Path, target: str | None, targets: str) -> Dataset:
    """Return the samples of a file; `target` is its column or array, `targets` auto, classes or real."""
    reader = next(reader for ending, reader in _READERS.items() if path.name.lower().endswith(ending))
    try:
        table = reader(path, target)
    except FileNotFoundError:
        raise DataError(f"data.source: there is no file {path}", "data.source") from None
    except UnicodeDecodeError:
        raise DataError(f"data.source: {path} is not text: a CSV is", "data.source") from None
    except (OSError, EOFError, BadZipFile) as error:
        raise DataError(f"data.source: cannot read {path} ({error})", "data.source") from None
    if len(table.targets) != len(table.features):
        raise DataError(
            f"data.source: {path} has {len(table.features)} samples and {len(table.targets)} targets: "
            "give one a sample",
            "data.source",
        )
    labels, names = _labels(path, table.targets, targets)
    features = _numbers(path, table.features)
    return Dataset(str(path), features, labels, max(2, len(names)) if names else REAL, 1.0, names)


def _labels(path: Path, found: NDArray[Any], targets: str) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the targets as classes 0, 1, ... with their names, in order, or as numbers without names."""
    if found.ndim != 1:
        raise DataError(
            f"data.target: the targets of {path} have shape {found.shape}: use (N,)", "data.target"
        )
    if targets == "auto":
        targets = "classes" if _are_classes(found) else "real"
    if targets == "real":
        if found.dtype.kind in "US":
            raise DataError(
                f"data.targets is real, and {path} has {found[0]!r}: use numbers, or classes", "data.targets"
            )
        return found.astype(np.float64), ()
    values, labels = np.unique(found, return_inverse=True)
    return labels.astype(np.int64), tuple(_name(value) for value in values.tolist())


def _are_classes(found: NDArray[Any]) -> bool:
    """Whether targets look like classes: texts, or whole numbers of few different values."""
    if found.dtype.kind not in "fiu":
        return True
    whole = found.dtype.kind in "iu" or bool(np.isfinite(found).all() and (found == np.rint(found)).all())
    return whole and len(np.unique(found)) <= MOST_CLASSES


def _name(value: Any) -> str:
    """Return the name of a class; a whole number is written as one, whatever type a file keeps it in."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _numbers(path: Path, features: NDArray[Any]) -> NDArray[Any]:
    """Return features (N, m) in a type that a data set has."""
    if features.dtype.kind not in "fiub":
        raise DataError(
            f"data.source: {path} has features of type {features.dtype}: use numbers", "data.source"
        )
    rows = features.reshape(len(features), -1) if features.size else features.reshape(len(features), 0)
    return rows if rows.dtype == np.uint8 else rows.astype(np.float32)


def _stored(path: Path) -> Any:
    """Return what numpy has written to a file."""
    try:
        return np.load(path, allow_pickle=False)
    except ValueError:  # numpy takes what it does not know for a pickle, which may do anything
        raise DataError(
            f"data.source: cannot read {path}: it is no file of numpy's, or of objects", "data.source"
        ) from None


def _npz(path: Path, target: str | None) -> FileContents:
    with _stored(path) as stored:
        names = list(stored.files)
        features = next((name for name in _FEATURES if name in names and name != target), None)
        wanted = _TARGETS if target is None else (target,)
        labels = next((name for name in wanted if name in names), None)
        if features is None or labels is None:
            missing, choices = ("features", _FEATURES) if features is None else ("targets", wanted)
            raise DataError(
                f"data.source: {path} has the arrays {', '.join(names)}, none for {missing}: "
                f"call one {' or '.join(choices)}",
                "data.source",
            )
        return FileContents(stored[features], stored[labels])


def _npy(path: Path, target: str | None) -> FileContents:
    whole = _stored(path)
    if whole.ndim != 2 or whole.shape[1] < 2:
        raise DataError(
            f"data.source: {path} has shape {whole.shape}: use (N, m + 1), the target a column", "data.source"
        )
    place = _column(path, target, [str(number) for number in range(whole.shape[1])])
    return FileContents(np.delete(whole, place, axis=1), whole[:, place])


def _csv(path: Path, target: str | None) -> FileContents:
    with path.open(encoding="utf-8-sig", newline="") as file:
        delimiter = max(_DELIMITERS, key=file.readline().count)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
        rows, lines = [], []
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    if len(rows) < 2 or len(rows[0]) < 2:
        raise DataError(
            f"data.source: {path} has no table: one sample a line, the target a column", "data.source"
        )
    header = [str(number) for number in range(len(rows[0]))]
    if not all(_is_number(cell) for cell in _without(rows[0], len(rows[0]) - 1)):
        header, rows, lines = rows[0], rows[1:], lines[1:]
    place = _column(path, target, header)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise DataError(
                f"data.source: {path}, line {line} has {len(row)} columns, others {len(header)}",
                "data.source",
            )
        for name, cell in zip(_without(header, place), _without(row, place), strict=True):
            if not _is_number(cell):
                raise DataError(
                    f"data.source: {path}, line {line}, column {name!r}: {cell[:40]!r} is not a number",
                    "data.source",
                )
    features = np.array([_without(row, place) for row in rows], dtype=np.float64)
    texts = [row[place].strip() for row in rows]
    are_numbers = all(_is_number(text) for text in texts)
    return FileContents(features, np.array(texts, dtype=np.float64) if are_numbers else np.array(texts))


def _parquet(path: Path, target: str | None) -> FileContents:
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415 - an extra, and heavy
    except ModuleNotFoundError:
        raise DataError(
            f"data.source: {path} needs pyarrow to be read: pip install 'edgefw[parquet]'", "data.source"
        ) from None
    try:
        table = parquet.read_table(path)
    except ArrowException as error:
        raise DataError(
            f"data.source: cannot read {path} ({str(error).splitlines()[0]})", "data.source"
        ) from None
    place = _column(path, target, table.column_names)
    columns = [column.to_numpy() for column in table.columns]
    features = np.stack(_without(columns, place), axis=1)
    targets = columns[place]
    return FileContents(features, targets if targets.dtype.kind in "fiub" else targets.astype(str))


_READERS: dict[str, Callable[[Path, str | None], FileContents]] = {
    ".npz": _npz,
    ".npy": _npy,
    ".csv": _csv,
    ".parquet": _parquet,
}


KINDS = tuple(_READERS)
"""The endings of the files that are read."""


def _column(path: Path, target: str | None, header: Sequence[str]) -> int:
    """Return the place of the target: the column of that name or number, the last one without any."""
    if target is None:
        return len(header) - 1
    if target in header:
        return list(header).index(target)
    if target.isdecimal() and int(target) < len(header):
        return int(target)
    raise DataError(f"data.target: {unknown(f'column of {path}', target, header)}", "data.target")


def _without(row: Sequence[Any], place: int) -> list[Any]:
    return [*row[:place], *row[place + 1 :]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
