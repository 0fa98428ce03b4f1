"""Each set against an independent answer: a linear program, a closed form, a full decomposition."""

from __future__ import annotations

import math
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog

from edgefw.problem.feasible import Atoms, make_set

if TYPE_CHECKING:
    from numpy.typing import NDArray

C, M, R = 3, 4, 2.5
seeds = st.integers(0, 2**32 - 1)


def minimum_by_linear_program(name: str, g: NDArray[np.float64]) -> float:
    """Return the least <g, v> over a polytope, with v = plus - minus, both parts nonnegative."""
    split = np.concatenate([g.ravel(), -g.ravel()])
    rows = np.kron(np.eye(C), np.ones(M))
    everything = np.ones((1, C * M))
    if name == "simplex":
        answer = linprog(g.ravel(), A_eq=everything, b_eq=[R])
    elif name == "box":
        answer = linprog(g.ravel(), bounds=(-R, R))
    else:
        A = np.tile(rows if name == "l1_per_class" else everything, (1, 2))
        answer = linprog(split, A_ub=A, b_ub=np.full(len(A), R))
    return float(answer.fun)


@pytest.mark.parametrize("name", ["l1_per_class", "l1_ball", "simplex", "box"])
@settings(deadline=None, max_examples=15)
@given(seed=seeds)
def test_lmo_of_a_polytope_solves_the_linear_program(name: str, seed: int) -> None:
    g = np.random.default_rng(seed).standard_normal((C, M))
    assert np.vdot(g, make_set(name, (C, M), R).lmo(g)) == pytest.approx(minimum_by_linear_program(name, g))


@settings(deadline=None, max_examples=20)
@given(seed=seeds, rank=st.integers(1, 3), turned=st.booleans())
def test_lmo_of_the_nuclear_ball_is_the_leading_singular_pair(seed: int, rank: int, turned: bool) -> None:  # noqa: FBT001
    rng = np.random.default_rng(seed)
    g = rng.standard_normal((3, rank)) @ rng.standard_normal((rank, 6))
    g = g.T if turned else g
    u, s, vt = np.linalg.svd(g)
    answer = make_set("nuclear_ball", g.shape, R).lmo(g)
    assert np.vdot(g, answer) == pytest.approx(-R * s[0], rel=1e-12)
    assert np.linalg.matrix_rank(answer) == 1
    if rank == 1 or s[1] < 0.9 * s[0]:
        np.testing.assert_allclose(answer, -R * np.outer(u[:, 0], vt[0]), atol=1e-9)


def test_lmo_of_the_nuclear_ball_with_equal_singular_values() -> None:
    answer = make_set("nuclear_ball", (3, 3), R).lmo(np.eye(3))
    assert np.trace(answer) == pytest.approx(-R)
    assert np.linalg.matrix_rank(answer) == 1


def test_lmo_of_the_l2_ball_is_the_opposite_direction() -> None:
    g = np.random.default_rng(0).standard_normal((C, M))
    np.testing.assert_allclose(make_set("l2_ball", (C, M), R).lmo(g), -R * g / np.linalg.norm(g), rtol=1e-14)


def l1_projection_by_root_finding(x: NDArray[np.float64]) -> NDArray[np.float64]:
    def excess(theta: float) -> float:
        return float(np.maximum(np.abs(x) - theta, 0).sum() - R)

    theta = brentq(excess, 0, np.abs(x).max(), xtol=1e-15) if excess(0) > 0 else 0
    return np.asarray(np.sign(x) * np.maximum(np.abs(x) - theta, 0))


@settings(deadline=None, max_examples=25)
@given(seed=seeds, scale=st.sampled_from([0.3, 1.0, 5.0]))
def test_l1_projections_agree_with_root_finding(seed: int, scale: float) -> None:
    x = scale * np.random.default_rng(seed).standard_normal((C, M))
    by_row = np.stack([l1_projection_by_root_finding(row) for row in x])
    np.testing.assert_allclose(make_set("l1_per_class", (C, M), R).project(x), by_row, atol=1e-12)
    whole = l1_projection_by_root_finding(x)
    np.testing.assert_allclose(make_set("l1_ball", (C, M), R).project(x), whole, atol=1e-12)


def test_only_the_rows_outside_are_moved() -> None:
    x = np.array([[0.1, -0.2, 0.3, 0.0], [9.0, 0, 0, -9.0], [1.0, 1.0, -0.5, 0.0]])
    answer = make_set("l1_per_class", (C, M), R).project(x)
    assert answer.tolist() == [x[0].tolist(), [R / 2, 0, 0, -R / 2], x[2].tolist()]


def test_projection_of_the_nuclear_ball_shrinks_singular_values() -> None:
    x = np.diag([3.0, 2.0, 0.1])
    np.testing.assert_allclose(
        make_set("nuclear_ball", (3, 3), R).project(x), np.diag([1.75, 0.75, 0]), atol=1e-15
    )


@pytest.mark.parametrize("name", ["l1_per_class", "l1_ball", "simplex", "nuclear_ball"])
def test_a_projection_from_very_far_loses_no_digits(name: str) -> None:
    feasible = make_set(name, (1, 3), 1)
    near = feasible.project(np.array([[1.0, 0.75, 0.0]]))
    far = feasible.project(np.array([[2.0**40 + 1, 2.0**40 + 0.75, 0.0]]))
    if name == "nuclear_ball":
        assert np.linalg.norm(far) == pytest.approx(1, rel=1e-15)
    else:
        assert far.tolist() == near.tolist() == [[0.625, 0.375, 0.0]]


@pytest.mark.parametrize("name", ["l1_per_class", "l1_ball", "simplex"])
@pytest.mark.parametrize(("peak", "rest"), [(5.0, 0.1), (24.0, 24 / 784)])
def test_a_projection_that_keeps_many_entries_is_exact(name: str, peak: float, rest: float) -> None:
    """One entry high above very many: a running sum over them is off by some 1e-11."""
    x = rest * (1 + 1e-3 * np.random.default_rng(3).random((1, 7840)))
    x[0, 0] = peak
    feasible = make_set(name, (1, 7840), 24)
    p = feasible.project(x)
    assert feasible.contains(p, 1e-12)
    assert np.array_equal(feasible.project(p), p)


def test_projection_of_a_large_float32_point_is_feasible() -> None:
    x = (1e4 * np.random.default_rng(1).standard_normal((10, 784))).astype(np.float32)
    for name in ("l1_per_class", "l1_ball", "simplex", "l2_ball"):
        feasible = make_set(name, (10, 784), 8)
        assert feasible.contains(feasible.project(x), 1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("l1_per_class", 2 * R * math.sqrt(C)),
        ("l1_ball", 2 * R),
        ("simplex", R * math.sqrt(2)),
        ("l2_ball", 2 * R),
        ("box", 2 * R * math.sqrt(C * M)),
        ("nuclear_ball", 2 * R),
    ],
)
def test_diameters(name: str, expected: float) -> None:
    assert make_set(name, (C, M), R).diameter == pytest.approx(expected, rel=1e-15)


def test_a_simplex_of_one_entry_is_a_point() -> None:
    assert make_set("simplex", (1, 1), R).diameter == 0


def test_a_simplex_has_no_negative_entries() -> None:
    simplex, x = make_set("simplex", (1, 3), 2), np.array([[2.5, -0.5, 0.0]])
    assert not simplex.contains(x)
    assert simplex.project(x).tolist() == [[2.0, 0.0, 0.0]]


@pytest.mark.parametrize("total", [1.0, 3.0])
def test_a_simplex_is_left_inwards_as_well_as_outwards(total: float) -> None:
    simplex, x = make_set("simplex", (1, 4), 2), np.full((1, 4), total / 4)
    assert not simplex.contains(x)
    assert simplex.project(x).tolist() == [[0.5, 0.5, 0.5, 0.5]]


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [("l1_per_class", [2, 3], [-R, R]), ("l1_ball", [2], [-R]), ("simplex", [1], [R])],
)
def test_ties_are_settled_as_documented(name: str, index: list[int], value: list[float]) -> None:
    g = np.array([[0.0, -2.0, 2.0], [-2.0, -2.0, 1.0]])
    answer = make_set(name, (2, 3), R).vertex(g)
    assert isinstance(answer, Atoms)
    assert answer.index.tolist() == index
    assert answer.value.tolist() == value


@pytest.mark.parametrize("name", ["l1_per_class", "l1_ball", "simplex"])
@pytest.mark.parametrize("turned", [False, True], ids=["agents-first", "classes-first"])
def test_a_sparse_vertex_allocates_next_to_nothing(name: str, turned: bool) -> None:  # noqa: FBT001
    g = np.random.default_rng(2).standard_normal((20, 20, 200)).astype(np.float32)
    g = g.swapaxes(0, 1) if turned else g
    feasible = make_set(name, (20, 200), R)
    tracemalloc.start()
    feasible.vertex(g)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < g.nbytes / 4
