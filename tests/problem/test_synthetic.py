from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.problem.synthetic import synthetic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.problem.dataset import Dataset

# the data of seed 7, still and drifting: published results depend on them
STILL = "caa1b520411c437c1cef297e30ffc489a7aaf546230ad81f418d8bea28786d8d"
DRIFTING = "f5b7c0d30ecad5ff82c4bb59a9100b9a60cebaba1e9201436491d99a1876008a"


def descend(data: Dataset, steps: int) -> tuple[NDArray[np.float64], float]:
    """Return a linear model (C, m) after `steps` of descent on the multinomial loss, and its accuracy."""
    A, y = data.rows(np.arange(len(data)), np.float64), data.labels
    x = np.zeros((data.classes, A.shape[1]))
    for _ in range(steps):
        P = np.exp(A @ x.T)
        R = P / P.sum(axis=1, keepdims=True) - np.eye(data.classes)[y]
        x -= R.T @ A / len(data) * (2 / data.max_norm() ** 2)
    return x, float(np.mean((A @ x.T).argmax(axis=1) == y))


@settings(deadline=None, max_examples=40)
@given(
    samples=st.integers(1, 40),
    features=st.integers(1, 30),
    classes=st.integers(2, 6),
    noise=st.floats(0, 1),
    drift=st.floats(0, 1),
    seed=st.integers(0, 2**64 - 1),
)
def test_samples_lie_in_the_unit_box_and_repeat(
    *, samples: int, features: int, classes: int, noise: float, drift: float, seed: int
) -> None:
    data, again = (
        synthetic(samples, features=features, classes=classes, noise=noise, drift=drift, seed=seed)
        for _ in range(2)
    )
    rows = data.rows(np.arange(samples), np.float32)
    assert rows.shape == (samples, features)
    assert rows.dtype == np.float32
    assert rows.min() >= 0
    assert rows.max() <= 1
    assert data.classes == classes
    assert data.digest == again.digest


def test_the_data_of_a_seed_never_change() -> None:
    assert synthetic(50, seed=7).digest == STILL
    assert synthetic(50, seed=7, drift=0.5).digest == DRIFTING
    assert synthetic(50, seed=8).digest != STILL


def test_it_is_kept_like_the_images() -> None:
    data = synthetic(20, seed=0)
    assert data.features.dtype == np.uint8
    assert data.features.shape == (20, 784)
    assert data.scale == 1 / 255


def test_a_linear_model_is_neither_trivial_nor_hopeless() -> None:
    _, accuracy = descend(synthetic(6000, seed=3), 20)
    assert 0.75 < accuracy < 0.9


def test_the_classes_overlap_by_as_much_as_the_noise_says() -> None:
    _, hard = descend(synthetic(4000, features=100, noise=1.0, seed=3), 20)
    _, easy = descend(synthetic(4000, features=100, noise=0.2, seed=3), 20)
    assert hard < 0.6  # 1 / (2 noise) is the most that any classifier can reach
    assert easy > 0.97


def test_a_model_of_one_seed_is_of_no_use_for_another() -> None:
    x, _ = descend(synthetic(2000, seed=3), 20)
    other = synthetic(2000, seed=4)
    found = (other.rows(np.arange(2000), np.float64) @ x.T).argmax(axis=1)
    assert np.mean(found == other.labels) < 0.35


def distance_of_ends(drift: float) -> float:
    """Return how far the mean sample of class 0 moves from the first fifth to the last."""
    data = synthetic(5000, features=50, classes=3, drift=drift, seed=1)
    rows, mine = data.rows(np.arange(5000), np.float64), data.labels == 0
    first, last = (rows[part][mine[part]].mean(axis=0) for part in (slice(1000), slice(4000, 5000)))
    return float(np.linalg.norm(first - last))


def test_drift_moves_the_prototypes_along_the_index() -> None:
    still, half, full = (distance_of_ends(drift) for drift in (0.0, 0.5, 1.0))
    assert still < 0.15
    assert 0.5 < half < full
    assert full == pytest.approx(2 * half, rel=0.2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": 0}, "synthetic samples 0 is too small: use at least 1"),
        ({"features": 0}, "synthetic features 0 is too small: use at least 1"),
        ({"classes": 1}, "synthetic classes 1 is too small: use at least 2"),
        ({"noise": 1.5}, "synthetic noise 1.5 is out of range: use 0 to 1"),
        ({"drift": float("nan")}, "synthetic drift nan is out of range: use 0 to 1"),
    ],
)
def test_senseless_numbers_are_refused(wrong: dict[str, float], message: str) -> None:
    arguments = {"samples": 10, "seed": 0} | wrong
    with pytest.raises(InputError, match=message):
        synthetic(**arguments)  # type: ignore[arg-type]
