"""A data set made from a seed, for machines without one.

Every class c has a prototype p_c in [0, 1]^m, mostly zero, as pictures are. A sample of class y is

    a = (1 - u) p_y + u p_z + e,     z another class at random, u uniform on [0, noise], e small pixel noise,

brought back to [0, 1]. Where u exceeds 1/2 the sample looks more like z than like its own class y, so the
classes overlap however many features there are: for noise > 1/2, a share u between 1 - noise and noise may
come from y and from z alike, and no classifier is right more often than 1/(2 noise). The arithmetic is in
whole numbers, so that a seed means the same data on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import InputError
from edgefw.problem.dataset import REAL, Dataset
from edgefw.problem.seeding import rng

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INKED = 0.3  # the share of a prototype's entries that are not zero, near that of the published images
_PIXEL_NOISE = 16  # e is uniform on -16..15, in units of 1/255
_ROWS_AT_ONCE = 1024  # small enough for the working arrays to stay in cache
_SHARES = 256  # shares of a blend are counted in 1/256


def synthetic(
    samples: int, *, features: int = 784, classes: int = 10, noise: float = 0.6, drift: float = 0.0, seed: int
) -> Dataset:
    """Return `samples` labelled samples, kept as uint8 with scale 1/255.

    `noise` in [0, 1] is the largest share u of another class. `drift` in [0, 1] is the share by which every
    prototype has moved towards a second one at the last sample, evenly along the sample index.
    """
    _check(samples, features, classes, noise, drift)
    prototypes = _prototypes(classes, features, rng(seed, "synthetic", "prototypes"))
    goals = _prototypes(classes, features, rng(seed, "synthetic", "goals"))
    random = rng(seed, "synthetic", "samples")
    y = random.integers(classes, size=samples)
    z = (y + random.integers(1, classes, size=samples)) % classes
    u = _shares(noise * random.random(samples))
    moved = _shares(drift * np.arange(samples) / max(1, samples - 1))
    rows = np.empty((samples, features), dtype=np.uint8)
    for start in range(0, samples, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        own, other = prototypes[y[part]], prototypes[z[part]]
        if drift > 0:
            own = _blend(own, goals[y[part]], moved[part])
            other = _blend(other, goals[z[part]], moved[part])
        rows[part] = _pixels(_blend(own, other, u[part]), random)
    return Dataset("synthetic", rows, y, classes, 1 / 255)


def regression(samples: int, *, features: int, noise: float, drift: float, seed: int) -> Dataset:
    """Return samples a, uniform on [-1, 1)^m, with real targets y = 3 <w, a> / sqrt(m) + e.

    The entries of w are uniform on [-1, 1), e on [-noise, noise). `drift` is the share by which w has moved
    towards a second one at the last sample. All but the last product is in whole numbers, as above.
    """
    _check(samples, features, 2, noise, drift)
    random = rng(seed, "synthetic", "regression")
    first, goal = random.integers(-128, 128, size=(2, features))
    rows = random.integers(-128, 128, size=(samples, features))
    moved = _shares(drift * np.arange(samples) / max(1, samples - 1)).astype(np.int64)[:, None]
    products = (rows * (first * (_SHARES - moved) + goal * moved)).sum(axis=1)
    errors = noise * random.integers(-(2**20), 2**20, size=samples) / 2**20
    targets = products / (128 * 128 * _SHARES) * 3 / np.sqrt(features) + errors
    return Dataset("synthetic", (rows / 128).astype(np.float32), targets, REAL, 1.0)


def _check(samples: int, features: int, classes: int, noise: float, drift: float) -> None:
    for name, value, least in (("samples", samples, 1), ("features", features, 1), ("classes", classes, 2)):
        if value < least:
            raise InputError(f"synthetic {name} {value} is too small: use at least {least}")
    for name, share in (("noise", noise), ("drift", drift)):
        if not 0 <= share <= 1:
            raise InputError(f"synthetic {name} {share} is out of range: use 0 to 1")


def _prototypes(classes: int, features: int, random: np.random.Generator) -> NDArray[np.uint16]:
    """Return one prototype a class, in 0..255: shape (C, m)."""
    ink = random.integers(0, 256, size=(classes, features), dtype=np.uint16)
    return ink * (random.random((classes, features)) < _INKED)


def _shares(share: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return shares in [0, 1] as whole numbers of 1/256."""
    return np.rint(_SHARES * share).astype(np.uint16)


def _blend(
    first: NDArray[np.uint16], second: NDArray[np.uint16], share: NDArray[np.uint16]
) -> NDArray[np.uint16]:
    """Return (1 - share) first + share second, row by row: (b, m). At most 256 * 255 < 2**16 on the way."""
    part = share[:, None]
    return (first * (_SHARES - part) + second * part) // _SHARES


def _pixels(clean: NDArray[np.uint16], random: np.random.Generator) -> NDArray[np.uint8]:
    """Return (b, m) values with pixel noise, within 0..255."""
    error = random.integers(-_PIXEL_NOISE, _PIXEL_NOISE, size=clean.shape, dtype=np.int8)
    noisy: NDArray[np.int16] = clean.astype(np.int16) + error
    return noisy.clip(0, 255).astype(np.uint8)
