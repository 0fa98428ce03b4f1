from __future__ import annotations

import numpy as np
import pytest

from edgefw.core.regret import Comparator, cumulative_loss, global_losses, network_regret, total_loss
from edgefw.problem.loss import NAMES, make_loss

LOSSES = np.array([[1.0, 4.0, 2.0], [5.0, 1.0, 2.0], [2.0, 2.0, 3.5]])  # (rounds, agents)


def test_the_total_loss_adds_up_the_worst_agent_of_every_round() -> None:
    assert total_loss(LOSSES) == 4.0 + 5.0 + 3.5


def test_the_cumulative_loss_is_an_agents_own() -> None:
    assert cumulative_loss(LOSSES).tolist() == [8.0, 7.0, 7.5]


def test_the_network_regret_is_that_of_the_worst_agent() -> None:
    assert network_regret(LOSSES, Comparator(value=6.0, gap=0.5)) == 2.0


def test_a_regret_may_be_negative() -> None:
    assert network_regret(LOSSES, Comparator(value=8.5, gap=0.0)) == -0.5


def test_one_agent_has_one_loss() -> None:
    lone = LOSSES[:, :1]
    assert total_loss(lone) == cumulative_loss(lone)[0] == 8.0


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_the_global_loss_is_the_mean_over_agents_and_does_not_depend_on_who_else_asks(
    loss: str, dtype: str, batch: int
) -> None:
    random, kind = np.random.default_rng(1), make_loss(loss)
    features = random.normal(size=(4, batch, 6)).astype(dtype)
    labels = random.integers(3, size=(4, batch))
    points = list(random.normal(size=(5, kind.outputs(3), 6)).astype(dtype))
    together = global_losses(kind, points, features, labels)
    local = [[float(kind.value(x @ features[j].T, labels[j])) for j in range(4)] for x in points]
    np.testing.assert_allclose(together, np.mean(local, axis=1), rtol=1e-5 if dtype == "float32" else 1e-12)
    assert together.dtype == np.float64
    assert together.tolist() == [float(global_losses(kind, [x], features, labels)[0]) for x in points]
