from __future__ import annotations

import numpy as np

from edgefw.core.regret import Comparator, cumulative_loss, network_regret, total_loss

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
