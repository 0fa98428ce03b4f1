"""A run as one table, a row for every round and agent: CSV and Parquet files."""

from __future__ import annotations

import csv
import math
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgefw.errors import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgefw.api.run import Run

COLUMNS = ("loss", "local_loss", "regret", "delay", "outstanding", "total_delay")


def columns(run: Run) -> dict[str, NDArray[Any]]:
    """Return the columns of the table; NaN where a number is not known."""
    T, n = run.loss.shape
    unknown = np.full((T, n), np.nan)
    arrays = {name: getattr(run, name) for name in COLUMNS}
    places = {"round": np.repeat(np.arange(1, T + 1), n), "agent": np.tile(np.arange(n), T)}
    return places | {name: (unknown if each is None else each).reshape(-1) for name, each in arrays.items()}


def write_csv(run: Run, path: str | os.PathLike[str]) -> Path:
    """Write the table as CSV, whole or not at all; what is not known is empty."""
    table, place = columns(run), Path(path)
    with _whole(place) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(
            ["" if math.isnan(value) else value for value in row]
            for row in zip(*(each.tolist() for each in table.values()), strict=True)
        )
    return place


def write_parquet(run: Run, path: str | os.PathLike[str]) -> Path:
    """Write the table as Parquet, whole or not at all; what is not known is null."""
    if find_spec("pyarrow") is None:
        raise InputError("Parquet needs pyarrow: install edgefw[parquet] (pip install 'edgefw[parquet]')")
    import pyarrow  # noqa: ICN001, PLC0415 - an extra, and heavy
    from pyarrow import parquet  # noqa: PLC0415

    place = Path(path)
    arrays = {name: pyarrow.array(each, from_pandas=True) for name, each in columns(run).items()}
    facts = {"edgefw.scenario": run.scenario.name, "edgefw.digest": run.scenario.digest}
    with _whole(place) as partial:
        parquet.write_table(pyarrow.table(arrays, metadata=facts), partial)
    return place


@contextmanager
def _whole(place: Path) -> Iterator[Path]:
    """Yield where to write what is to be at a place when the block has ended well, and not before."""
    if place.is_dir():
        raise InputError(f"{place} cannot be written: it is a folder, give a file")
    if not place.parent.is_dir():
        raise InputError(f"{place} cannot be written: there is no folder {place.parent}")
    partial = place.with_name(f"{place.name}.partial")
    try:
        yield partial
        partial.replace(place)
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror}") from None
