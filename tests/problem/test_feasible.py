"""The same checks over every feasible set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.problem.feasible import NAMES, Atoms, FeasibleSet, densify, make_set

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

RADIUS = 1.7
SHAPES = [(1, 1), (3, 5), (5, 2)]
SPARSE = {"l1_per_class": 3, "l1_ball": 1, "simplex": 1}
seeds = st.integers(0, 2**32 - 1)
scales = st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e6])
every_set = pytest.mark.parametrize(
    "feasible",
    [make_set(name, shape, RADIUS) for name in NAMES for shape in SHAPES],
    ids=[f"{name}-{c}x{m}" for name in NAMES for c, m in SHAPES],
)
both_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def noise(feasible: FeasibleSet, seed: int, *lead: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal((*lead, *feasible.shape))


def members(feasible: FeasibleSet, seed: int) -> NDArray[np.float64]:
    """Return twenty vertices and twenty mixtures of them, (40, C, m)."""
    vertices = feasible.lmo(noise(feasible, seed, 20))
    mixtures = np.random.default_rng(seed).dirichlet(np.full(20, 0.3), 20)
    return np.concatenate([vertices, np.einsum("ij,jcm->icm", mixtures, vertices)])


def inner(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.asarray((a * b).sum((-2, -1)))


@every_set
@settings(deadline=None, max_examples=25)
@given(seed=seeds, scale=scales)
def test_no_member_is_better_than_the_answer_of_lmo(feasible: FeasibleSet, seed: int, scale: float) -> None:
    direction = scale * noise(feasible, seed)
    others = np.concatenate([members(feasible, seed + 1), feasible.project(noise(feasible, seed + 2, 20))])
    best = inner(direction, feasible.lmo(direction))
    assert best <= inner(direction, others).min() + 1e-9 * scale


@every_set
@settings(deadline=None, max_examples=25)
@given(seed=seeds, scale=scales)
def test_projection_is_the_nearest_point(feasible: FeasibleSet, seed: int, scale: float) -> None:
    x = scale * noise(feasible, seed)
    p = feasible.project(x)
    corner = feasible.lmo(p - x)[None]
    steps = np.concatenate([corner, members(feasible, seed + 1)]) - p
    assert feasible.contains(p, 1e-11)
    assert inner(x - p, steps).max() <= 1e-11 * (1 + scale) * feasible.size


@every_set
@both_types
@settings(deadline=None, max_examples=15)
@given(seed=seeds, scale=scales)
def test_projecting_twice_changes_nothing(
    feasible: FeasibleSet, dtype: DTypeLike, seed: int, scale: float
) -> None:
    once = feasible.project((scale * noise(feasible, seed, 4)).astype(dtype))
    assert np.array_equal(feasible.project(once), once)


@every_set
@both_types
def test_a_point_inside_is_its_own_projection(feasible: FeasibleSet, dtype: DTypeLike) -> None:
    points = np.concatenate([members(feasible, 1), [feasible.start(), feasible.uniform_start()]]).astype(
        dtype
    )
    answer = feasible.project(points)
    assert answer.tobytes() == points.tobytes()
    assert not np.shares_memory(answer, points)


@every_set
@both_types
def test_what_a_set_gives_out_is_in_it(feasible: FeasibleSet, dtype: DTypeLike) -> None:
    far = (20 * noise(feasible, 2, 50)).astype(dtype)
    for points in (feasible.lmo(far), feasible.project(far)):
        assert feasible.contains(points).all()
    assert feasible.contains(feasible.start(dtype))
    assert feasible.contains(feasible.uniform_start(dtype))


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
def test_stacked_is_looped(feasible: FeasibleSet) -> None:
    x = 2 * noise(feasible, 6, 2, 3)
    lmo, project, contains = feasible.lmo(x), feasible.project(x), feasible.contains(x / 4)
    assert contains.shape == (2, 3)
    for place in np.ndindex(2, 3):
        np.testing.assert_allclose(feasible.lmo(x[place]), lmo[place], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(feasible.project(x[place]), project[place], rtol=1e-12, atol=1e-12)
        assert feasible.contains(x[place] / 4) == contains[place]


@every_set
def test_a_stack_of_none_gives_none(feasible: FeasibleSet) -> None:
    none = noise(feasible, 6, 0)
    for answer in (feasible.lmo(none), feasible.project(none)):
        assert answer.shape == none.shape
    assert feasible.contains(none).shape == (0,)


@every_set
@pytest.mark.parametrize("axes", [(1, 0, 2), (0, 2, 1), (2, 1, 0)])
def test_memory_layout_does_not_matter(feasible: FeasibleSet, axes: tuple[int, int, int]) -> None:
    x = noise(feasible, 7, 4)
    view = x.transpose(axes).copy().transpose(np.argsort(axes))
    assert view.shape == x.shape
    for method in (feasible.lmo, feasible.project):
        np.testing.assert_allclose(method(view), method(x), rtol=1e-12, atol=1e-12)


@every_set
def test_arguments_are_left_alone(feasible: FeasibleSet) -> None:
    x = noise(feasible, 8, 3)
    x[0] = 0
    before = x.copy()
    feasible.lmo(x)
    feasible.project(x)
    feasible.contains(x)
    assert np.array_equal(x, before)


@every_set
@both_types
def test_type_is_kept(feasible: FeasibleSet, dtype: DTypeLike) -> None:
    x = (3 * noise(feasible, 9, 3)).astype(dtype)
    answers = [feasible.lmo(x), feasible.project(x), feasible.start(dtype), feasible.uniform_start(dtype)]
    assert {answer.dtype for answer in answers} == {np.dtype(dtype)}
    np.testing.assert_allclose(answers[1], feasible.project(x.astype(np.float64)), atol=1e-6)


@every_set
@both_types
def test_a_direction_of_zeros_gives_the_same_vertex_always(feasible: FeasibleSet, dtype: DTypeLike) -> None:
    zeros = np.zeros((2, *feasible.shape), dtype)
    first, second = feasible.lmo(zeros)
    assert np.array_equal(first, second)
    assert feasible.contains(first)
    assert np.linalg.norm(first) == pytest.approx(feasible.max_norm, rel=1e-6)


@every_set
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e150])
def test_scale_of_a_direction_does_not_matter(feasible: FeasibleSet, scale: float) -> None:
    g = noise(feasible, 10)
    np.testing.assert_allclose(feasible.lmo(g * scale), feasible.lmo(g), rtol=1e-9, atol=1e-9)


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
