"""The vectorised simulator against the agents of `core`, driven one by one in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
from hypothesis import given, settings

from edgefw.core.regret import total_loss
from edgefw.delays.book import ArrivalBook
from edgefw.problem.feasible import NAMES as SETS
from edgefw.problem.loss import NAMES as LOSSES
from edgefw.simulator import De2mfwNetwork, Trace, arrived, in_lockstep, simulate

if TYPE_CHECKING:
    from edgefw.scenario.setup import Setup

CLOSE = 1e-9


def one_by_one(setup: Setup) -> Trace:
    rounds = list(in_lockstep(setup))
    assert [played.t for played in rounds] == list(range(1, setup.rounds + 1))
    return Trace(np.stack([p.local_loss for p in rounds]), np.stack([p.global_loss for p in rounds]))


def assert_same_losses(setup: Setup) -> None:
    fast, slow = simulate(setup), one_by_one(setup)
    assert fast.local_loss.shape == fast.global_loss.shape == (setup.rounds, setup.n)
    np.testing.assert_allclose(fast.local_loss, slow.local_loss, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(fast.global_loss, slow.global_loss, rtol=0, atol=CLOSE)


def assert_same_plays(setup: Setup) -> None:
    network, book = De2mfwNetwork(setup), ArrivalBook(setup.delays)
    for t, played in enumerate(tiny.plays(setup), start=1):
        network.sweep(t, arrived(book, t - 1))
        together = network.plays()
        np.testing.assert_allclose(together, [play.point for play in played], rtol=0, atol=CLOSE)
        assert setup.feasible.contains(together).all()


def assert_equivalent(setup: Setup) -> None:
    assert_same_losses(setup)
    assert_same_plays(setup)


@pytest.mark.parametrize("topology", tiny.TOPOLOGIES)
@pytest.mark.parametrize("delays", ["none", "out of order", "empty rounds"])
def test_on_every_topology(topology: str, delays: str) -> None:
    assert_equivalent(tiny.setup(network=tiny.TOPOLOGIES[topology], delays=tiny.DELAYS[delays]))


@pytest.mark.parametrize("delays", tiny.DELAYS)
@pytest.mark.parametrize("oracle", ["ftpl", "ogd"])
def test_under_all_delays(delays: str, oracle: str) -> None:
    algorithm = {"oracle": oracle}
    assert_equivalent(tiny.setup(algorithm=algorithm, rounds=20, delays=tiny.DELAYS[delays]))


@pytest.mark.parametrize("feasible", SETS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "algorithm",
    [{"oracle": "ftpl", "noise": "fixed"}, {"oracle": "ftpl", "noise": "fresh"}, {"oracle": "ogd"}],
    ids=["fixed", "fresh", "ogd"],
)
def test_on_every_set_with_every_loss_and_oracle(feasible: str, loss: str, algorithm: dict[str, Any]) -> None:
    assert_equivalent(
        tiny.setup(
            agents=4,
            rounds=10,
            problem={"set": feasible, "loss": loss},
            algorithm=algorithm,
            delays=tiny.DELAYS["uniform"],
        )
    )


@pytest.mark.parametrize("schedule", ["experiment", "theorem"])
@pytest.mark.parametrize("noise", ["fixed", "fresh"])
@pytest.mark.parametrize("batch", [1, 5])
def test_with_both_schedules_at_their_own_rate(schedule: str, noise: str, batch: int) -> None:
    algorithm = {"schedule": schedule, "noise": noise, "rate": None}
    assert_equivalent(
        tiny.setup(rounds=26, algorithm=algorithm, problem={"batch": batch}, delays=tiny.DELAYS["uniform"])
    )


@settings(deadline=None, max_examples=100)
@given(tiny.networks())
def test_under_any_table_of_delays(setup: Setup) -> None:
    assert_equivalent(setup)


def test_a_run_that_stops_early_is_the_beginning_of_the_whole_run() -> None:
    """K and the rates are those of the horizon; constant delays do not know where the run ends."""
    whole = simulate(tiny.setup(rounds=20, delays=tiny.DELAYS["constant"]))
    early = tiny.setup(rounds=20, algorithm={"stop_after": 11}, delays=tiny.DELAYS["constant"])
    assert_equivalent(early)
    np.testing.assert_array_equal(simulate(early).global_loss, whole.global_loss[:11])


@pytest.mark.parametrize("topology", tiny.TOPOLOGIES)
@pytest.mark.parametrize("oracle", ["ftpl", "ogd"])
def test_in_single_precision_the_total_loss_agrees(topology: str, oracle: str) -> None:
    setup = tiny.setup(
        network=tiny.TOPOLOGIES[topology],
        algorithm={"oracle": oracle},
        precision="float32",
        delays=tiny.DELAYS["uniform"],
    )
    fast, slow = simulate(setup), one_by_one(setup)
    assert total_loss(fast.global_loss) == pytest.approx(total_loss(slow.global_loss), rel=1e-3)
    assert total_loss(fast.local_loss) == pytest.approx(total_loss(slow.local_loss), rel=1e-3)
