from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.messages import Feedback, Play, gradient_at_play, in_order, mix, observe
from edgefw.problem.loss import NAMES as LOSSES
from edgefw.problem.loss import make_loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSES, FEATURES, BATCH, QUERIES = 3, 6, 4, 5


def _problem(loss: str, seed: int) -> tuple[Play, NDArray[Any], NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    shape = (make_loss(loss).outputs(CLASSES), FEATURES)
    queries = list(random.normal(size=(QUERIES, *shape)))
    play = Play(7, random.normal(size=shape), queries)
    return play, random.normal(size=(BATCH, FEATURES)), random.integers(CLASSES, size=BATCH)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(LOSSES), st.integers(0, 10**6))
def test_the_factored_gradient_is_the_dense_gradient(name: str, seed: int) -> None:
    """Against central differences of the loss itself, entry by entry."""
    loss, (play, features, labels) = make_loss(name), _problem(name, seed)
    value, feedback = observe(loss, play, features, labels)
    assert feedback.round == play.t
    assert value == pytest.approx(float(loss.value(play.point @ features.T, labels)), rel=1e-12)
    dense = [_numeric(name, x, features, labels) for x in play.queries]
    for q in range(QUERIES):
        np.testing.assert_allclose(feedback.gradient(q), dense[q], rtol=0, atol=1e-6)
    for q in range(1, QUERIES):
        np.testing.assert_allclose(feedback.difference(q), dense[q] - dense[q - 1], rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_at_the_play_is_no_querys(name: str) -> None:
    loss, (play, features, labels) = make_loss(name), _problem(name, 1)
    expected = _numeric(name, play.point, features, labels)
    np.testing.assert_allclose(gradient_at_play(loss, play, features, labels), expected, rtol=0, atol=1e-6)


def _numeric(
    name: str, x: NDArray[Any], features: NDArray[Any], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    step = 1e-5 * np.eye(x.size).reshape(-1, *x.shape)
    ahead, behind = (make_loss(name).value((x + s) @ features.T, labels) for s in (step, -step))
    return np.asarray((ahead - behind) / 2e-5).reshape(x.shape)


def test_a_play_that_is_its_own_query_gives_one_gradient() -> None:
    play, features, labels = _problem("multinomial", 0)
    own = Play(1, play.point, [play.point])
    twin = Play(1, play.point, [play.point.copy()])
    first, second = (observe(make_loss("multinomial"), p, features, labels)[1] for p in (own, twin))
    assert first.residuals.shape == (1, CLASSES, BATCH)
    assert np.array_equal(first.gradient(0), second.gradient(0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_type_of_the_batch_is_kept(dtype: str) -> None:
    play, features, labels = _problem("multinomial", 1)
    typed = Play(1, play.point.astype(dtype), [x.astype(dtype) for x in play.queries])
    feedback = observe(make_loss("multinomial"), typed, features.astype(dtype), labels)[1]
    assert feedback.gradient(0).dtype == feedback.difference(1).dtype == np.dtype(dtype)


@settings(deadline=None, max_examples=60)
@given(st.permutations(range(5)), st.sets(st.integers(0, 4)), st.sampled_from(["float32", "float64"]))
def test_mix_adds_in_ascending_order_and_leaves_out_who_has_nothing(
    order: list[int], silent: set[int], dtype: str
) -> None:
    random = np.random.default_rng(2)
    weights = {j: float(w) for j, w in enumerate(random.random(5))}
    values = {j: random.normal(size=(2, 3)).astype(dtype) for j in range(5)}
    before = {j: value.copy() for j, value in values.items()}
    mixed = mix(
        {j: weights[j] for j in order}, {j: None if j in silent else values[j] for j in reversed(order)}
    )
    speaking = sorted(set(range(5)) - silent)
    if not speaking:
        assert mixed is None
        return
    expected = np.zeros((2, 3), dtype)
    for j in speaking:
        expected = expected + weights[j] * values[j]
    assert mixed is not None
    assert mixed.dtype == np.dtype(dtype)
    assert np.array_equal(mixed, expected)
    mixed += 1  # a new array: nobody else's
    assert all(np.array_equal(values[j], before[j]) for j in range(5))


def test_mix_of_one_is_a_new_array() -> None:
    value = np.ones((1, 2))
    mixed = mix({3: 1.0}, {3: value})
    assert mixed is not None
    assert mixed is not value
    assert np.array_equal(mixed, value)


@given(st.permutations(range(1, 7)))
def test_arrivals_are_taken_by_round(rounds: list[int]) -> None:
    empty = np.empty((0, 0))
    arrivals = [Feedback(s, empty, empty) for s in rounds]
    assert [feedback.round for feedback in in_order(arrivals)] == [1, 2, 3, 4, 5, 6]
    assert [feedback.round for feedback in arrivals] == rounds  # what was handed over stays as it was
