from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays.draws import Draws, blend

MANY = range(1, 40_001)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**70), st.integers(0, 100), st.integers(0, 2**33), st.integers(1, 300), st.floats(0, 1)
)
def test_one_round_alone_draws_what_it_draws_among_all(
    seed: int, agent: int, salt: int, s: int, correlation: float
) -> None:
    every = range(1, 301)
    stream = Draws(seed, (agent,), salt)
    alone = Draws(seed, (agent,), salt)  # an object that has drawn nothing yet
    one = range(s, s + 1)
    assert np.array_equal(alone.uniforms(one)[0], stream.uniforms(every)[s - 1])
    assert alone.amounts(one, correlation)[0] == stream.amounts(every, correlation)[s - 1]
    assert alone.gates(one)[0] == stream.gates(every)[s - 1]


def test_the_numbers_themselves_never_change() -> None:
    # A recorded run is replayed with these: a change here breaks every run that was ever recorded.
    numbers = Draws(seed=7, link=(3,), salt=0).uniforms(range(1, 3))
    assert numbers.tolist() == [
        [0.48769047150328215, 0.3613190870616223, 0.9265266810417279, 0.15903732288993422],
        [0.04341387613230829, 0.7967220534344455, 0.13591668701199866, 0.9875517362029267],
    ]


def test_seed_agent_salt_and_round_each_give_other_numbers() -> None:
    base = Draws(1, (2,), 3)
    others = [
        Draws(seed, (link,), salt)
        for seed, link, salt in ((2, 2, 3), (1, 3, 3), (1, 2, 4), (2, 1, 3), (1, 3, 2))
    ]
    draws = [each.uniforms(MANY)[:, 0] for each in (base, *others)]
    correlations = np.abs(np.corrcoef(draws) - np.eye(6))
    assert correlations.max() < 0.03


def test_the_four_numbers_of_a_round_are_uniform_and_unrelated() -> None:
    numbers = Draws(5, (0,), 1).uniforms(MANY)
    assert numbers.shape == (40_000, 4)
    assert ((numbers >= 0) & (numbers < 1)).all()
    np.testing.assert_allclose(numbers.mean(axis=0), 1 / 2, atol=0.01)
    np.testing.assert_allclose(numbers.var(axis=0), 1 / 12, atol=0.003)
    assert np.abs(np.corrcoef(numbers.T) - np.eye(4)).max() < 0.03


@pytest.mark.parametrize("rounds", [range(1, 9, 2), range(-1, 3)])
def test_rounds_that_are_not_consecutive_are_refused(rounds: range) -> None:
    with pytest.raises(ValueError, match="not consecutive"):
        Draws(0, (0,), 0).uniforms(rounds)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(1, 20) | st.integers(1, 2000) | st.integers(10**9, 10**9 + 500), max_size=12),
    st.integers(0, 3),
    st.floats(0, 1),
)
def test_rounds_in_any_order_draw_what_each_draws_alone(
    rounds: list[int], which: int, correlation: float
) -> None:
    stream = Draws(5, (2,), 1)
    alone = [float(stream.uniforms(range(s, s + 1))[0, which]) for s in rounds]
    assert stream.at(np.array(rounds, dtype=np.int64), which).tolist() == alone
    blended = [float(stream.amounts(range(s, s + 1), correlation)[0]) for s in rounds]
    assert stream.amounts(np.array(rounds, dtype=np.int64), correlation).tolist() == blended


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_blended_draws_stay_uniform(correlation: float) -> None:
    u = np.sort(Draws(5, (0,), 1).amounts(MANY, correlation))
    assert u[0] >= 0
    assert u[-1] < 1
    np.testing.assert_allclose(u, (np.arange(u.size) + 0.5) / u.size, atol=0.015)


def test_correlation_raises_the_lag_one_correlation_and_no_other() -> None:
    lags = []
    for correlation in (0.0, 0.25, 0.5, 0.75, 1.0):
        u = Draws(5, (0,), 1).amounts(MANY, correlation)
        lags.append(np.corrcoef(u[1:], u[:-1])[0, 1])
        assert abs(np.corrcoef(u[2:], u[:-2])[0, 1]) < 0.02
    assert lags == sorted(lags)
    assert abs(lags[0]) < 0.02
    assert lags[-1] == pytest.approx(0.48, abs=0.02)


@settings(deadline=None, max_examples=200)
@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True), st.floats(0, 1))
def test_a_blend_is_in_the_unit_interval(now: float, before: float, correlation: float) -> None:
    blended = blend(np.array([now]), np.array([before]), correlation)[0]
    assert 0 <= blended < 1
    if correlation == 0:
        assert blended == now
