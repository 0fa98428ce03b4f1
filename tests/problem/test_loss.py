from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.problem.loss import NAMES, Loss, gradient, logits, make_loss

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

CLASSES, FEATURES = 5, 7
seeds = st.integers(0, 2**32 - 1)
every_loss = pytest.mark.parametrize("loss", [make_loss(name) for name in NAMES], ids=NAMES)


def draw(
    loss: Loss, seed: int, lead: tuple[int, ...] = (), batch: int = 4, scale: float = 3.0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    Z = scale * rng.standard_normal((*lead, loss.outputs(CLASSES), batch))
    return Z, rng.integers(0, CLASSES, (*lead, batch))


def one_example(loss: Loss, z: NDArray[Any], label: int) -> float:
    """Return the loss of one example straight from its definition."""
    if loss.name == "multinomial":
        return float(np.log(np.exp(z).sum()) - z[label])
    if loss.name == "binary_logistic":
        return float(np.log1p(np.exp(-z[0] if label % 2 else z[0])))
    return float((z[0] - label) ** 2 / 2)


@every_loss
def test_value_is_the_batch_mean_of_the_definition(loss: Loss) -> None:
    Z, y = draw(loss, 1, batch=6)
    expected = np.mean([one_example(loss, Z[:, j], int(y[j])) for j in range(6)])
    assert loss.value(Z, y) == pytest.approx(expected, rel=1e-13)


@every_loss
@settings(deadline=None, max_examples=20)
@given(seed=seeds)
def test_residual_is_the_derivative_of_the_value(loss: Loss, seed: int) -> None:
    Z, y = draw(loss, seed)
    step = 1e-5
    numeric = np.empty_like(Z)
    for place in np.ndindex(Z.shape):
        nudge = np.zeros_like(Z)
        nudge[place] = step
        numeric[place] = (loss.value(Z + nudge, y) - loss.value(Z - nudge, y)) / (2 * step)
    np.testing.assert_allclose(loss.residual(Z, y), numeric, atol=1e-8)


@every_loss
def test_gradient_is_the_derivative_along_any_line_of_points(loss: Loss) -> None:
    rng = np.random.default_rng(2)
    x, line = rng.standard_normal((2, loss.outputs(CLASSES), FEATURES))
    A, y = rng.standard_normal((4, FEATURES)), rng.integers(0, CLASSES, 4)
    slope = np.vdot(gradient(loss.residual(logits(x, A), y), A), line)
    ahead, behind = (loss.value(logits(x + s * line, A), y) for s in (1e-5, -1e-5))
    assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-7)


@every_loss
@settings(deadline=None, max_examples=40)
@given(seed=seeds, scale=st.floats(0.01, 100))
def test_value_is_convex_along_lines(loss: Loss, seed: int, scale: float) -> None:
    Z, y = draw(loss, seed, scale=scale)
    other, _ = draw(loss, seed + 1, scale=scale)
    ends = (loss.value(Z, y) + loss.value(other, y)) / 2
    assert loss.value((Z + other) / 2, y) <= ends * (1 + 1e-12)
    assert loss.value(other, y) >= loss.value(Z, y) + np.vdot(loss.residual(Z, y), other - Z) - 1e-12 * ends


@every_loss
@settings(deadline=None, max_examples=40)
@given(seed=seeds, scale=st.floats(0.01, 10))
def test_constants_bound_gradient_and_curvature(loss: Loss, seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3, FEATURES))
    y = rng.integers(0, CLASSES, 3)
    x, other = scale * rng.standard_normal((2, loss.outputs(CLASSES), FEATURES))
    max_norm = float(np.linalg.norm(A, axis=1).max())
    G, beta = loss.constants(max_norm, max(float(np.linalg.norm(p)) for p in (x, other)), CLASSES)
    here, there = (gradient(loss.residual(logits(p, A), y), A) for p in (x, other))
    assert max(np.linalg.norm(here), np.linalg.norm(there)) <= G
    assert np.linalg.norm(here - there) <= beta * np.linalg.norm(x - other) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("name", "G", "beta"),
    [
        ("multinomial", 2 * math.sqrt(2), 2.0),
        ("binary_logistic", 2.0, 1.0),
        ("squared", 2 * (2 * 3 + 4), 4.0),
    ],
)
def test_constants_are_the_known_ones(name: str, G: float, beta: float) -> None:
    assert make_loss(name).constants(2.0, 3.0, CLASSES) == pytest.approx((G, beta))


@pytest.mark.parametrize(
    ("name", "z", "label", "line"),
    [
        ("multinomial", [0.0, 0.0, -50, -50, -50], 0, [1.0, -1, 0, 0, 0]),
        ("binary_logistic", [0.0], 1, [1.0]),
        ("squared", [0.3], 1, [1.0]),
    ],
)
def test_beta_is_attained(name: str, z: list[float], label: int, line: list[float]) -> None:
    loss, step = make_loss(name), 1e-4 * np.array(line)[:, None]
    Z, y = np.array(z)[:, None], np.array([label])
    bend = loss.residual(Z + step, y) - loss.residual(Z - step, y)
    beta = loss.constants(1.0, 1.0, CLASSES).beta
    assert np.linalg.norm(bend) == pytest.approx(beta * 2 * np.linalg.norm(step), rel=1e-6)


def test_values_at_zero() -> None:
    y = np.array([0, 1, 3])
    assert make_loss("multinomial").value(np.zeros((4, 3)), y) == pytest.approx(math.log(4))
    assert make_loss("binary_logistic").value(np.zeros((1, 3)), y) == pytest.approx(math.log(2))
    assert make_loss("squared").value(np.zeros((1, 3)), y) == pytest.approx((0 + 1 + 9) / 6)


@every_loss
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_type_is_kept(loss: Loss, dtype: DTypeLike) -> None:
    Z, y = draw(loss, 3, (2,))
    both = loss.value_and_residual(Z.astype(dtype), y)
    each = loss.value(Z.astype(dtype), y), loss.residual(Z.astype(dtype), y)
    assert {part.dtype for part in (*both, *each)} == {np.dtype(dtype)}
    np.testing.assert_allclose(both[0], loss.value(Z, y), rtol=1e-5)
    np.testing.assert_allclose(both[1], loss.residual(Z, y), atol=1e-6)


@every_loss
def test_arguments_are_left_alone(loss: Loss) -> None:
    Z, y = draw(loss, 3, (2,))
    before = Z.copy(), y.copy()
    loss.value_and_residual(Z, y)
    loss.residual(Z, y)
    loss.value(Z, y)
    assert np.array_equal(Z, before[0])
    assert np.array_equal(y, before[1])


@every_loss
@pytest.mark.parametrize("lead", [(), (3,), (3, 2), (2, 3, 2)])
@pytest.mark.parametrize("batch", [1, 2, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stacked_is_looped_bit_for_bit(
    loss: Loss, lead: tuple[int, ...], batch: int, dtype: DTypeLike
) -> None:
    rng = np.random.default_rng(4)
    Z = rng.standard_normal((*lead, loss.outputs(10), batch)).astype(dtype)
    y = rng.integers(0, 10, (*lead, batch))
    value, residual = loss.value_and_residual(Z, y)
    assert value.shape == lead
    assert residual.shape == Z.shape
    assert np.array_equal(loss.value(Z, y), value)
    assert np.array_equal(loss.residual(Z, y), residual)
    for place in np.ndindex(lead):
        assert loss.value(Z[place], y[place]) == value[place]
        assert np.array_equal(loss.residual(Z[place], y[place]), residual[place])


@every_loss
def test_labels_broadcast_over_further_leading_axes(loss: Loss) -> None:
    Z, _ = draw(loss, 5, (4, 3))
    _, y = draw(loss, 6, (3,))
    for labels in (y, y[0]):
        whole = np.broadcast_to(labels, (4, 3, 4))
        assert np.array_equal(loss.value(Z, labels), loss.value(Z, whole))
        assert np.array_equal(loss.residual(Z, labels), loss.residual(Z, whole))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_logits_do_not_overflow(dtype: DTypeLike) -> None:
    y = np.array([0, 1])
    Z = np.array([[1e4, 1e4], [-1e4, -1e4]], dtype)
    value, residual = make_loss("multinomial").value_and_residual(Z, y)
    assert value == 1e4
    assert residual.tolist() == [[0, 0.5], [0, -0.5]]
    value, residual = make_loss("binary_logistic").value_and_residual(Z[:1], y + 1)
    assert value == 5e3
    assert residual.tolist() == [[0, 0.5]]


def test_binary_logistic_sets_odd_against_even() -> None:
    R = make_loss("binary_logistic").residual(np.zeros((1, 4)), np.array([0, 1, 8, 9]))
    assert np.sign(R).tolist() == [[1, -1, 1, -1]]


def test_outputs() -> None:
    assert {name: make_loss(name).outputs(10) for name in NAMES} == {
        "multinomial": 10,
        "squared": 1,
        "binary_logistic": 1,
    }


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown loss 'multinomal': did you mean 'multinomial'"):
        make_loss("multinomal")
