"""Oracles: FTPL answers with a minimiser, its noise depends on the query alone, OGD follows its formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.oracle import FixedNoise, FreshNoise, Ftpl, Ogd, make_noise, step_towards
from edgefw.errors import InputError
from edgefw.problem.feasible import NAMES as SETS
from edgefw.problem.feasible import Atoms, densify, make_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgefw.core.oracle import Vertex

    Point = NDArray[np.floating[Any]]

SHAPE, RADIUS, K = (3, 5), 2.0, 4
DOUBLE = np.dtype(np.float64)
SMALLEST: dict[str, Callable[[Point], float]] = {  # min of <u, v> over the set with r = 1
    "l1_per_class": lambda u: -float(np.abs(u).max(axis=1).sum()),
    "l1_ball": lambda u: -float(np.abs(u).max()),
    "simplex": lambda u: float(u.min()),
    "l2_ball": lambda u: -float(np.linalg.norm(u)),
    "box": lambda u: -float(np.abs(u).sum()),
    "nuclear_ball": lambda u: -float(np.linalg.norm(u, 2)),
}


def dense(v: Vertex) -> Point:
    return densify(v, SHAPE) if isinstance(v, Atoms) else v


def test_the_table_of_minima_knows_every_set() -> None:
    assert set(SMALLEST) == set(SETS)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(SETS), st.sampled_from(["fixed", "fresh"]), st.integers(0, 1000))
def test_ftpl_answers_with_a_minimiser_of_the_perturbed_sum(name: str, kind: str, seed: int) -> None:
    feasible, random, zeta = make_set(name, SHAPE, RADIUS), np.random.default_rng(seed), 0.7
    oracle = Ftpl(feasible, K, zeta, make_noise(kind, SHAPE, K, seed=seed, agent=2), DOUBLE)
    noise = make_noise(kind, SHAPE, K, seed=seed, agent=2)
    sums = np.zeros((K, *SHAPE))
    for t in range(1, 4):
        for k in range(1, K + 1):
            fresh = noise.fresh(t, k)
            leader = zeta * sums[k - 1] + noise.constant() + (0 if fresh is None else fresh)
            v = dense(oracle.answer(t, k))
            assert feasible.contains(v)
            assert np.vdot(leader, v) == pytest.approx(RADIUS * SMALLEST[name](leader), abs=1e-9)
            d = random.normal(size=SHAPE)
            oracle.feed(k, d)
            sums[k - 1] += d


@settings(deadline=None, max_examples=30)
@given(st.permutations([(t, k) for t in (1, 2, 3) for k in range(1, K + 1)]))
def test_fresh_noise_is_a_function_of_the_query_not_of_the_order(order: list[tuple[int, int]]) -> None:
    in_turn = FreshNoise(SHAPE, K, seed=1, agent=6)
    expected = {query: in_turn.fresh(*query) for query in sorted(order)}
    noise = FreshNoise(SHAPE, K, seed=1, agent=6)
    for query in order:
        assert np.array_equal(noise.fresh(*query), expected[query])


def test_fresh_noise_differs_with_seed_agent_round_and_sub_iteration() -> None:
    draws = [
        FreshNoise(SHAPE, K, seed=seed, agent=agent).fresh(t, k)
        for seed in (0, 1)
        for agent in (0, 1)
        for t in (1, 2)
        for k in (1, 2)
    ]
    assert len({draw.tobytes() for draw in draws}) == len(draws)


def test_fresh_noise_is_uniform_around_zero_and_comes_on_top_of_nothing() -> None:
    noise = FreshNoise(SHAPE, K, seed=0, agent=0)
    assert not noise.constant().any()
    values = np.concatenate([noise.fresh(t, k).ravel() for t in range(1, 200) for k in range(1, K + 1)])
    _assert_uniform(values + 0.5)


def test_fixed_noise_is_uniform_drawn_once_an_agent_and_shared_by_its_oracles() -> None:
    values = [FixedNoise(SHAPE, seed=0, agent=agent).constant() for agent in range(800)]
    assert len({value.tobytes() for value in values}) == len(values)
    _assert_uniform(np.concatenate([value.ravel() for value in values]))
    noise = make_noise("fixed", SHAPE, K, seed=0, agent=3)
    assert np.array_equal(noise.constant(), values[3])
    assert noise.fresh(1, 1) is None
    assert not np.array_equal(noise.constant(), FixedNoise(SHAPE, seed=1, agent=3).constant())
    leader = Ftpl(make_set("box", SHAPE, 1.0), K, 1.0, noise, DOUBLE).leader
    assert all(np.array_equal(leader[k], values[3]) for k in range(K))


def _assert_uniform(values: Point) -> None:
    """Every tenth of [0, 1] holds its share of some 12 000 values, within five deviations."""
    assert values.min() >= 0
    assert values.max() <= 1
    counts, _ = np.histogram(values, bins=10, range=(0, 1))
    share = len(values) / 10
    assert np.abs(counts - share).max() < 5 * np.sqrt(share)


@pytest.mark.parametrize("name", SETS)
def test_ogd_steps_and_projects(name: str) -> None:
    feasible, random = make_set(name, SHAPE, RADIUS), np.random.default_rng(3)
    oracle = Ogd(feasible, K, 0.7, DOUBLE)
    expected = [feasible.start() for _ in range(K)]
    left = False
    for t in range(1, 6):
        for k in range(1, K + 1):
            assert np.array_equal(dense(oracle.answer(t, k)), expected[k - 1])
            d = random.normal(size=SHAPE)
            oracle.feed(k, d)
            left |= not feasible.contains(expected[k - 1] - 0.7 * d)
            expected[k - 1] = feasible.project(expected[k - 1] - 0.7 * d)
    assert left  # somewhere the projection had something to do


def test_an_answer_of_ogd_may_be_written_to() -> None:
    oracle = Ogd(make_set("box", SHAPE, 1.0), K, 1.0, DOUBLE)
    answer = dense(oracle.answer(1, 1))
    answer += 5
    assert not dense(oracle.answer(1, 1)).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_step_is_the_convex_combination_sparse_or_dense(dtype: str) -> None:
    random = np.random.default_rng(0)
    y = random.normal(size=SHAPE).astype(dtype)
    atoms = Atoms(np.array([2, 9]), np.array([3.0, -1.0], dtype=dtype))
    expected = 0.75 * y + 0.25 * densify(atoms, SHAPE)
    for v in (atoms, densify(atoms, SHAPE)):
        x = step_towards(y.copy(), 0.25, v)
        assert x.dtype == np.dtype(dtype)
        np.testing.assert_allclose(x, expected, rtol=1e-6)


def test_an_unknown_noise_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown noise 'frsh': did you mean 'fresh'\?"):
        make_noise("frsh", SHAPE, K, seed=0, agent=0)
