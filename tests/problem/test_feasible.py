"""The same checks over every feasible set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.checks.feasible import CHECKS, SHAPES, noise
from edgefw.errors import InputError
from edgefw.problem.feasible import NAMES, Atoms, FeasibleSet, densify, make_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

RADIUS = 1.7
SPARSE = {"l1_per_class": 3, "l1_ball": 1, "simplex": 1}
seeds = st.integers(0, 2**32 - 1)
every_set = pytest.mark.parametrize(
    "feasible",
    [make_set(name, shape, RADIUS) for name in NAMES for shape in SHAPES],
    ids=[f"{name}-{c}x{m}" for name in NAMES for c, m in SHAPES],
)
both_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@every_set
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@settings(deadline=None, max_examples=10)
@given(seed=seeds)
def test_it_passes_what_is_asked_of_every_set(
    feasible: FeasibleSet, check: Callable[[FeasibleSet, int], None], seed: int
) -> None:
    check(feasible, seed)


@every_set
@both_types
def test_contains_turns_away_what_is_outside(feasible: FeasibleSet, dtype: DTypeLike) -> None:
    vertices = feasible.lmo(noise(feasible, 3, 10)).astype(dtype)
    assert not feasible.contains(dtype_scaled(vertices, 1.001)).any()
    assert feasible.contains(dtype_scaled(vertices, 1.001), tolerance=0.1).all()
    assert not feasible.contains(np.full(feasible.shape, np.nan, dtype))


def dtype_scaled(x: NDArray[Any], factor: float) -> NDArray[Any]:
    return (x * factor).astype(x.dtype)


@every_set
def test_diameter_is_never_exceeded_and_attained(feasible: FeasibleSet) -> None:
    g = noise(feasible, 4, 30)
    vertices = np.concatenate([feasible.lmo(g), feasible.lmo(-g)])
    distances = np.linalg.norm((vertices[:, None] - vertices).reshape(60, 60, -1), axis=-1)
    assert distances.max() == pytest.approx(feasible.diameter, rel=1e-12)


@every_set
def test_max_norm_is_the_norm_of_the_longest_vertex(feasible: FeasibleSet) -> None:
    norms = np.linalg.norm(feasible.lmo(noise(feasible, 5, 30)).reshape(30, -1), axis=-1)
    assert norms.max() == pytest.approx(feasible.max_norm, rel=1e-12)


@every_set
@both_types
def test_a_direction_of_zeros_gives_the_same_vertex_always(feasible: FeasibleSet, dtype: DTypeLike) -> None:
    zeros = np.zeros((2, *feasible.shape), dtype)
    first, second = feasible.lmo(zeros)
    assert np.array_equal(first, second)
    assert feasible.contains(first)
    assert np.linalg.norm(first) == pytest.approx(feasible.max_norm, rel=1e-6)


@every_set
def test_atoms_are_the_dense_answer(feasible: FeasibleSet) -> None:
    g = noise(feasible, 11, 4, 2)
    answer = feasible.vertex(g)
    assert isinstance(answer, Atoms) == (feasible.name in SPARSE)
    if isinstance(answer, Atoms):
        count = feasible.shape[0] if feasible.name == "l1_per_class" else 1
        assert answer.index.shape == answer.value.shape == (4, 2, count)
        assert answer.index.dtype == np.intp
        assert all(len(set(row)) == count for row in answer.index.reshape(-1, count).tolist())
        answer = densify(answer, feasible.shape)
    assert np.array_equal(answer, feasible.lmo(g))


@every_set
def test_starts(feasible: FeasibleSet) -> None:
    uniform = np.full(feasible.shape, RADIUS / feasible.size)
    assert np.array_equal(feasible.uniform_start(), uniform)
    assert np.array_equal(feasible.start(), uniform if feasible.name == "simplex" else 0 * uniform)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("radius", [-1, 0, float("nan"), float("inf")])
def test_a_radius_that_is_not_positive_is_refused(name: str, radius: float) -> None:
    with pytest.raises(InputError, match=rf"problem\.radius is {radius:g}: it must be a positive number"):
        make_set(name, (2, 3), radius)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown feasible set 'l1_per_clas': did you mean 'l1_per_class'"):
        make_set("l1_per_clas", (2, 3), 1)
