"""Features brought to a size that suits a loss and a rate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import InputError, known

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.problem.dataset import Dataset


def scaled(data: Dataset, scale: float | None, scaling: str) -> Dataset:
    """Return the data set with features multiplied by `scale`, or scaled as `scaling` says."""
    if scaling == "none":
        return data if scale is None else replace(data, scale=scale)
    if scale is not None:
        raise InputError(
            f"data.scale is given, and data.scaling is {scaling}: leave one of them out", "data.scale"
        )
    return known("scaling", scaling, WAYS)(data)


def _standardize(data: Dataset) -> Dataset:
    """Give every feature mean 0 and standard deviation 1, over all samples; a constant one becomes 0."""
    rows = data.features.astype(np.float64)
    return _moved(data, rows, rows.mean(axis=0), rows.std(axis=0))


def _unit_interval(data: Dataset) -> Dataset:
    """Bring every feature to [0, 1], over all samples; a constant one becomes 0."""
    rows = data.features.astype(np.float64)
    return _moved(data, rows, rows.min(axis=0), np.ptp(rows, axis=0))


def _unit_norm(data: Dataset) -> Dataset:
    """Multiply all features by one number, so that the longest sample has norm 1."""
    longest = replace(data, scale=1.0).max_norm()
    return replace(data, scale=1 / longest if longest else 1.0)


def _moved(
    data: Dataset,
    rows: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    origin: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    size: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> Dataset:
    features = (rows - origin) / np.where(size > 0, size, 1.0)
    return replace(data, features=features.astype(np.float32), scale=1.0)


WAYS: dict[str, Callable[[Dataset], Dataset]] = {
    "standardize": _standardize,
    "unit_interval": _unit_interval,
    "unit_norm": _unit_norm,
}
