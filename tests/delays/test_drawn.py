"""Amounts that are drawn: seconds of a latency, whole numbers of rounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.delays.drawn import QUANTILES
from edgefw.delays.draws import Draws
from edgefw.delays.fault import Seen
from edgefw.delays.latency import Latency
from edgefw.delays.rounds import Rounds
from edgefw.errors import InputError

MANY = range(1, 40_001)
DRAWS = Draws(11, (4,), 2)


def latency(base: float, jitter: float = 0.0, distribution: Any = None, correlation: float = 0.0) -> Latency:
    return Latency.model_construct(
        latency=base, jitter=jitter, distribution=distribution, correlation=correlation
    )


def whole(
    base: int, jitter: int = 0, distribution: Any = None, correlation: float = 0.0, **fields: Any
) -> Rounds:
    return Rounds.model_construct(
        rounds=base, jitter=jitter, distribution=distribution, correlation=correlation, **fields
    )


def counted(fault: Rounds, rounds: range, draws: Draws = DRAWS) -> Any:
    """Return the delays, 1 or more, of these rounds."""
    return fault.adds(Seen(rounds, np.zeros(0), None, draws), "rounds") + 1


def values(distribution: Any, base: float, jitter: float, correlation: float = 0.0) -> np.ndarray[Any, Any]:
    return latency(base, jitter, distribution, correlation).values(DRAWS, MANY)


@pytest.mark.parametrize(
    ("distribution", "quantiles"),
    [
        ("uniform", (7.5, 10.0, 12.5)),
        ("normal", (10 - 5 * 0.6745, 10.0, 10 + 5 * 0.6745)),
        ("exponential", (10 + 5 * math.log(4 / 3), 10 + 5 * math.log(2), 10 + 5 * math.log(4))),
        ("lognormal", (10 + 5 * math.exp(-0.6745), 15.0, 10 + 5 * math.exp(0.6745))),
        ("pareto", tuple(10 + 5 * (q ** (-1 / 1.5) - 1) for q in (0.75, 0.5, 0.25))),
    ],
)
@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_quartiles_are_the_distributions_own(
    distribution: str, quantiles: tuple[float, ...], correlation: float
) -> None:
    drawn = values(distribution, 10, 5, correlation)
    np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), quantiles, rtol=0.02)


def test_means_and_spreads() -> None:
    assert values("uniform", 10, 5).mean() == pytest.approx(10, rel=0.01)
    assert values("normal", 100, 5).std() == pytest.approx(5, rel=0.02)
    assert values("exponential", 10, 5).mean() == pytest.approx(15, rel=0.01)
    assert values("lognormal", 10, 5).mean() == pytest.approx(10 + 5 * math.exp(0.5), rel=0.02)
    uniform = values("uniform", 10, 5)
    assert 5 <= uniform.min() < 5.01
    assert 14.99 < uniform.max() <= 15
    assert values("exponential", 10, 5).min() >= 10
    assert values("pareto", 10, 5).min() >= 10


def test_the_pareto_tail_is_heavy() -> None:
    excess = values("pareto", 0, 1) + 1
    for x in (10, 100):
        assert (excess > x).mean() == pytest.approx(x**-1.5, rel=0.3)


@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from(list(QUANTILES)),
    st.floats(0, 1e12),
    st.floats(0, 1e12),
    st.floats(0, 1),
    st.integers(0, 2**32),
)
def test_never_below_zero_and_whole_at_least_one(
    distribution: Any, base: float, jitter: float, correlation: float, seed: int
) -> None:
    draws = Draws(seed, (0,), 0)
    assert (latency(base, jitter, distribution, correlation).values(draws, range(1, 50)) >= 0).all()
    rounds = whole(math.floor(base) + 1, math.floor(jitter) + 1, distribution, correlation)
    found = counted(rounds, range(1, 50), draws)
    assert found.dtype == np.int64
    assert (found >= 1).all()
    assert np.array_equal(found[6:7], counted(rounds, range(7, 8), draws))


@pytest.mark.parametrize("d", [1, 9, 21, 41, 61, 81, 101])
def test_the_papers_delays_are_uniform_on_exactly_their_integers(d: int) -> None:
    low = -(-d // 10)  # ceil(0.1 d)
    fault = whole((low + d) // 2, (d - low) // 2, "uniform")
    found, counts = np.unique(counted(fault, MANY), return_counts=True)
    assert found.tolist() == list(range(low, d + 1))
    np.testing.assert_allclose(counts / len(MANY), 1 / (d - low + 1), rtol=0.25)


def test_a_constant_is_constant_and_continuous_ones_are_rounded_to_the_nearest() -> None:
    assert set(counted(whole(501), range(1, 99)).tolist()) == {501}
    assert set(latency(0.8).values(DRAWS, range(1, 99)).tolist()) == {0.8}
    exact, near = latency(20, 3, "normal").values(DRAWS, MANY), counted(whole(20, 3, "normal"), MANY)
    assert np.abs(exact - near).max() <= 0.5


def test_a_trace_is_read_cyclically_by_round() -> None:
    traced = Latency.model_validate({"trace": ["5s", "500ms", "2s"]})
    assert traced.law == "trace"
    assert traced.values(DRAWS, range(1, 8)).tolist() == [5, 0.5, 2, 5, 0.5, 2, 5]
    assert traced.values(DRAWS, range(6, 7)).tolist() == [2]
    assert counted(Rounds(trace=[5, 1, 2]), range(1, 5)).tolist() == [5, 1, 2, 5]


def test_the_default_distribution_follows_from_the_jitter() -> None:
    assert latency(3).law == "constant"
    assert latency(3, 1).law == "uniform"
    assert np.array_equal(
        latency(3, 1).values(DRAWS, range(1, 20)), latency(3, 1, "uniform").values(DRAWS, range(1, 20))
    )


def test_correlation_reaches_the_values_of_every_distribution() -> None:
    for distribution in ("uniform", "normal", "exponential"):
        free, tied = values(distribution, 30, 5), values(distribution, 30, 5, 0.9)
        assert abs(np.corrcoef(free[1:], free[:-1])[0, 1]) < 0.03
        assert np.corrcoef(tied[1:], tied[:-1])[0, 1] > 0.3


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"latency": "1s", "jitter": "1s", "distribution": "constant"}, "jitter", "has none: say 'uniform'"),
        ({"distribution": "trace"}, "trace", "is missing: .* needs its values"),
        ({"trace": ["1s"], "distribution": "normal"}, "distribution", "leave one of them out"),
        ({"latency": "2s", "trace": ["1s"]}, "trace", "leave out latency and jitter, or the"),
        ({"trace": ["1s"], "jitter": "1s"}, "trace", "gives the whole amount"),
    ],
)
def test_wrong_amounts_are_refused_in_one_line(fields: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{field}.*{message}") as caught:
        Latency(**fields).check("wall")
    assert caught.value.field == field
    assert "\n" not in str(caught.value)
