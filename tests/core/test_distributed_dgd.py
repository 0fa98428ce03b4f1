"""Distributed delayed gradient descent against a few lines of numpy, and on one agent against DGD."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
from hypothesis import given, settings

from edgefw.delays.book import ArrivalBook

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.scenario.setup import Setup

CLOSE = 1e-10


def by_hand(setup: Setup) -> NDArray[np.float64]:
    """Return all plays, (rounds, n, C, m): X_{t+1} = project(W X_t - eta * arrived in round t)."""
    book, X = ArrivalBook(setup.delays), np.stack([setup.feasible.start()] * setup.n)
    plays = []
    for t in range(1, setup.rounds + 1):
        plays.append(X)
        arrived = np.zeros_like(X)
        for i, rounds in book.at(t).items():
            for s in rounds:
                features, labels = setup.batch(i, s)
                arrived[i] += setup.loss.residual(plays[s - 1][i] @ features.T, labels) @ features
        X = setup.feasible.project(np.tensordot(setup.W, X, 1) - setup.zeta * arrived)
    return np.stack(plays)


@settings(deadline=None, max_examples=40)
@given(tiny.networks(name="distributed-dgd"))
def test_on_any_network_under_any_delays(setup: Setup) -> None:
    np.testing.assert_allclose(tiny.points(setup), by_hand(setup), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("feasible", ["l1_ball", "simplex", "l2_ball", "nuclear_ball"])
def test_on_other_sets(feasible: str) -> None:
    options: dict[str, Any] = {"problem": {"set": feasible}, "algorithm": {"name": "distributed-dgd"}}
    setup = tiny.setup(**options, delays=tiny.DELAYS["uniform"])
    np.testing.assert_allclose(tiny.points(setup), by_hand(setup), rtol=0, atol=CLOSE)


@settings(deadline=None, max_examples=20)
@given(tiny.delay_tables(1, 12))
def test_one_agent_is_dgd(delays: NDArray[np.int64]) -> None:
    one, other = (
        tiny.points(replace(tiny.setup(agents=1, rounds=12, algorithm={"name": name}), delays=delays))
        for name in ("distributed-dgd", "dgd")
    )
    np.testing.assert_allclose(one, other, rtol=0, atol=CLOSE)
