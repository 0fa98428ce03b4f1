"""Scores are those of the simulator, bit for bit; regrets and distances are what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import playback
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from edgefw.core.regret import Comparator, cumulative_loss, network_regret, total_loss
from edgefw.problem.loss import NAMES as LOSSES
from edgefw.services.observer.scoring import (
    Certificate,
    Scoreboard,
    consensus_distance,
    score_round,
)
from edgefw.simulator import in_lockstep

if TYPE_CHECKING:
    from edgefw.scenario.setup import Setup

Losses = NDArray[np.float64]
TABLES = st.tuples(st.integers(1, 6), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(0, 10))
)


@settings(deadline=None, max_examples=25)
@given(tiny.networks(precision="float32"))
def test_a_round_is_scored_as_the_simulator_scores_it(setup: Setup) -> None:
    for played, expected in zip(playback.play_all(setup), in_lockstep(setup), strict=True):
        scored = score_round(setup, expected.t, [one.play.point for one in played])
        assert scored.global_loss.tolist() == expected.global_loss.tolist()
        assert scored.outside == ()


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_is_scored_as_the_simulator_scores_it(loss: str) -> None:
    setup = tiny.setup(precision="float32", problem={"loss": loss}, delays=tiny.DELAYS["uniform"])
    for played, expected in zip(playback.play_all(setup), in_lockstep(setup), strict=True):
        scored = score_round(setup, expected.t, [one.play.point for one in played])
        assert scored.global_loss.tolist() == expected.global_loss.tolist()


def test_a_play_outside_the_set_is_named_and_scored_all_the_same() -> None:
    setup = tiny.setup(agents=3, precision="float32")
    points = [np.zeros(setup.feasible.shape, dtype=np.float32) for _ in range(3)]
    points[1] += 2 * np.float32(setup.feasible.radius)
    scored = score_round(setup, 1, points)
    assert scored.outside == (1,)
    assert scored.global_loss[0] == scored.global_loss[2]
    assert np.isfinite(scored.global_loss).all()


@settings(deadline=None, max_examples=50)
@given(arrays(np.float32, (4, 2, 3), elements=st.floats(-10, 10, width=32)))
def test_the_consensus_distance_is_the_largest_from_the_mean(points: NDArray[np.float32]) -> None:
    mean = points.astype(np.float64).mean(axis=0)
    expected = max(float(np.sqrt(((point - mean) ** 2).sum())) for point in points)
    assert consensus_distance(list(points)) == pytest.approx(expected, abs=1e-9)
    assert consensus_distance([points[0]] * 3) == pytest.approx(0, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(TABLES, st.data())
def test_the_board_adds_up_losses_and_measures_regret(losses: Losses, data: st.DataObject) -> None:
    rounds, n = losses.shape
    board = Scoreboard(n, rounds)
    fixed = data.draw(arrays(np.float64, rounds, elements=st.floats(0, 10)))
    when = data.draw(st.integers(0, rounds))  # the certificate comes after so many rounds
    for t in range(1, rounds + 1):
        if t - 1 == when:
            board.compare_with(Certificate(Comparator(float(fixed.sum()), 0.5), fixed))
        board.add(losses[t - 1])
        assert board.network_loss == losses[t - 1].max()
        for i in range(n):
            score = board.score(i, t)
            assert (score.round, score.global_loss) == (t, losses[t - 1, i])
            assert score.cumulative_loss == pytest.approx(losses[:t, i].sum())
            if t - 1 < when:
                assert score.regret is None
                assert score.gap is None
            else:
                assert score.regret == pytest.approx((losses[:t, i] - fixed[:t]).sum(), abs=1e-9)
                assert score.gap == (0.5 if t == rounds else None)  # of all rounds, not of the first ones
    assert board.losses.tolist() == losses.tolist()
    assert board.total_loss == pytest.approx(total_loss(losses))
    assert board.worst_loss == pytest.approx(cumulative_loss(losses).max())
    if when < rounds:
        comparator = Comparator(float(fixed.sum()), 0.5)
        assert board.network_regret == pytest.approx(network_regret(losses, comparator), abs=1e-9)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000))
def test_regret_on_the_way_is_at_most_the_regret_against_any_better_point(seed: int) -> None:
    random = np.random.default_rng(seed)
    losses, points = random.random((5, 2)), random.random((5, 3))  # F_t at the plays, F_t at three points
    best = points[:, points.sum(axis=0).argmin()]  # over the horizon
    board = Scoreboard(2, 5)
    board.compare_with(Certificate(Comparator(float(best.sum()), 0.0), best))
    for t in range(1, 6):
        board.add(losses[t - 1])
        regret = board.score(0, t).regret
        assert regret is not None
        assert regret <= losses[:t, 0].sum() - points[:t].sum(axis=0).min() + 1e-9


def test_a_certificate_of_fewer_rounds_says_nothing_of_later_ones() -> None:
    board = Scoreboard(1, 3)
    board.compare_with(Certificate(Comparator(2.0, 0.0), np.array([1.0, 1.0])))
    for _ in range(3):
        board.add(np.array([2.0]))
    assert board.score(0, 2).regret == 2.0
    assert board.score(0, 3).regret is None
    assert board.network_regret is None
