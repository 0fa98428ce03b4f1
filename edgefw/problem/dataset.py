"""Labelled samples, in the compact form they are kept in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from edgefw.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

F = TypeVar("F", bound="np.floating")

_ROWS_AT_ONCE = 512

REAL = 0
"""The number of classes of a data set whose labels are real targets."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """N labelled samples a_s = scale * features[s] in R^m, with labels in {0, ..., classes - 1}.

    `features`, (N, m), stay as compact as they come: uint8 for images (scale 1/255) or float32 (scale 1).
    `labels`, (N,), become int64; where `classes` is REAL they are real targets, and become float64. Both
    arrays are read-only. Classes may have `names`.
    """

    name: str
    features: NDArray[np.uint8] | NDArray[np.float32]
    labels: NDArray[Any]
    classes: int
    scale: float
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_features()
        self._check_labels()
        for key, array in (("features", self.features), ("labels", self.labels.astype(self._label_type))):
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, key, view)

    @property
    def is_real(self) -> bool:
        """Whether labels are real targets, not classes."""
        return self.classes == REAL

    @property
    def spread(self) -> float:
        """The number of classes; of real targets, one more than the largest in magnitude."""
        return 1 + float(np.abs(self.labels).max()) if self.is_real else self.classes

    @property
    def _label_type(self) -> type[np.float64 | np.int64]:
        return np.float64 if self.is_real else np.int64

    def __len__(self) -> int:
        return len(self.features)

    def rows(self, index: NDArray[np.integer], dtype: type[F] | np.dtype[F]) -> NDArray[F]:
        """Return the scaled features of the samples `index`, of shape index.shape + (m,), in `dtype`."""
        kind = np.dtype(dtype)
        picked: NDArray[F] = np.multiply(self.features[index], kind.type(self.scale), dtype=kind)
        return picked

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all that a loss can depend on: features, scale, labels and the number of classes."""
        kind = self.features.dtype.newbyteorder("<").str
        sha = hashlib.sha256(f"{kind} {self.features.shape} {self.classes} {self.scale!r}".encode())
        sha.update(np.ascontiguousarray(self.features, dtype=kind).data)
        sha.update(self.labels.astype("<f8" if self.is_real else "<i8").data)
        return sha.hexdigest()

    def max_norm(self) -> float:
        """Return max over s of |a_s|_2, in pieces: no float copy of the whole set is made."""
        largest = 0.0
        for start in range(0, len(self), _ROWS_AT_ONCE):
            block = self.features[start : start + _ROWS_AT_ONCE].astype(np.float64)
            largest = max(largest, float(np.einsum("sm,sm->s", block, block).max()))
        return abs(self.scale) * float(np.sqrt(largest))

    def _check_features(self) -> None:
        if self.features.dtype not in (np.uint8, np.float32):
            raise DataError(
                f"data set {self.name!r} has {self.features.dtype} features: use uint8 or float32"
            )
        if self.features.ndim != 2 or self.features.size == 0:
            raise DataError(f"data set {self.name!r} has features of shape {self.features.shape}: use (N, m)")
        # a NaN passes through min and max, so this reads the features without a copy
        if not (np.isfinite(self.features.min()) and np.isfinite(self.features.max())):
            row = next(s for s in range(len(self)) if not np.isfinite(self.features[s]).all())
            raise DataError(
                f"data set {self.name!r} has a feature that is not finite in sample {row}: remove it"
            )

    def _check_labels(self) -> None:
        if self.labels.shape != (len(self),):
            raise DataError(
                f"data set {self.name!r} has {len(self)} samples and labels of shape {self.labels.shape}: "
                f"give one label a sample"
            )
        if self.is_real:
            if not np.isfinite(self.labels).all():
                row = int(np.flatnonzero(~np.isfinite(self.labels))[0])
                raise DataError(f"data set {self.name!r} has no finite target in sample {row}: remove it")
            return
        lowest, highest = int(self.labels.min()), int(self.labels.max())
        if lowest < 0 or highest >= self.classes:
            wrong = lowest if lowest < 0 else highest
            raise DataError(
                f"data set {self.name!r} has label {wrong}: labels must be 0 to {self.classes - 1}"
            )
