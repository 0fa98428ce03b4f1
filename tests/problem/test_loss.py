from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.checks.loss import CHECKS, CLASSES, draw
from edgefw.errors import InputError
from edgefw.problem.loss import NAMES, Loss, make_loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

seeds = st.integers(0, 2**32 - 1)
every_loss = pytest.mark.parametrize("loss", [make_loss(name) for name in NAMES], ids=NAMES)


def one_example(loss: Loss, z: NDArray[Any], label: int) -> float:
    """Return the loss of one example straight from its definition."""
    if loss.name == "multinomial":
        return float(np.log(np.exp(z).sum()) - z[label])
    if loss.name == "binary_logistic":
        return float(np.log1p(np.exp(-z[0] if label % 2 else z[0])))
    return float((z[0] - label) ** 2 / 2)


@every_loss
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@settings(deadline=None, max_examples=20)
@given(seed=seeds)
def test_it_passes_what_is_asked_of_every_loss(
    loss: Loss, check: Callable[[Loss, int], None], seed: int
) -> None:
    check(loss, seed)


@every_loss
def test_value_is_the_batch_mean_of_the_definition(loss: Loss) -> None:
    Z, y = draw(loss, 1, batch=6)
    expected = np.mean([one_example(loss, Z[:, j], int(y[j])) for j in range(6)])
    assert loss.value(Z, y) == pytest.approx(expected, rel=1e-13)


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
@pytest.mark.parametrize("lead", [(), (3,), (3, 2), (2, 3, 2)])
@pytest.mark.parametrize("batch", [1, 2, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stacked_is_looped_bit_for_bit(
    loss: Loss, lead: tuple[int, ...], batch: int, dtype: DTypeLike
) -> None:
    rng = np.random.default_rng(4)
    Z = rng.standard_normal((*lead, loss.outputs(10), batch)).astype(dtype)
    y = rng.integers(0, 10, (*lead, batch))
    value, residual = loss.value(Z, y), loss.residual(Z, y)
    assert value.shape == lead
    assert residual.shape == Z.shape
    for place in np.ndindex(lead):
        assert loss.value(Z[place], y[place]) == value[place]
        assert np.array_equal(loss.residual(Z[place], y[place]), residual[place])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_logits_do_not_overflow(dtype: DTypeLike) -> None:
    y = np.array([0, 1])
    Z = np.array([[1e4, 1e4], [-1e4, -1e4]], dtype)
    multinomial, logistic = make_loss("multinomial"), make_loss("binary_logistic")
    assert multinomial.value(Z, y) == 1e4
    assert multinomial.residual(Z, y).tolist() == [[0, 0.5], [0, -0.5]]
    assert logistic.value(Z[:1], y + 1) == 5e3
    assert logistic.residual(Z[:1], y + 1).tolist() == [[0, 0.5]]


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
