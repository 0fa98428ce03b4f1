"""The rate of a run: from what its scenario declares, never from what is drawn, dropped or held back."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from edgefw.delays.book import most_total_delay, total_delay
from edgefw.problem.synthetic import synthetic
from edgefw.scenario.load import load
from edgefw.scenario.setup import Setup, first_rounds, resolve
from edgefw.simulator import simulate

TINY = synthetic(1200, features=9, classes=3, seed=0)
T = 400


def alone(delays: str, *overrides: str) -> Setup:
    """Return a lone learner under these delays."""
    settings = [f"algorithm.horizon={T}", "problem.batch=2", f"delays={delays}", *overrides]
    return resolve(load("paper-centralized", settings), TINY)


def d_of(setup: Setup) -> float:
    """Return d of zeta = 1/sqrt(d T)."""
    return 1 / (setup.zeta**2 * T)


@pytest.mark.parametrize(
    "lost",
    [
        "[{type: drop, at: 200, duration: 1}]",
        "[{type: drop, probability: 0.5}]",
        "[{type: adversary, strategy: until_end}]",
        "[{type: adversary, strategy: burst, period: 50}]",
        "[{type: rounds, trace: [1, 1, 399]}]",
        "[{type: blackout, at: 300}]",
    ],
)
def test_what_declares_no_delay_leaves_the_rate_alone(lost: str) -> None:
    setup = alone(lost)
    assert setup.delays.max() > 1
    assert setup.zeta == 1 / math.sqrt(T)
    assert f"d = 1 (not counted: delays.0, {setup.scenario.delays[0].type})" in setup.rate.reason


def test_one_dropped_feedback_changes_nothing_before_it_is_missed() -> None:
    free, lost = alone("[]"), alone("[{type: drop, at: 200, duration: 1}]")
    np.testing.assert_array_equal(
        simulate(first_rounds(free, 200)).global_loss, simulate(first_rounds(lost, 200)).global_loss
    )


@pytest.mark.parametrize("distribution", ["exponential", "lognormal", "pareto", "normal"])
def test_the_draws_of_a_heavy_tail_do_not_matter(distribution: str) -> None:
    fault = f"[{{type: rounds, rounds: 3, jitter: 8, distribution: {distribution}}}]"
    setups = [alone(fault, f"seed={seed}") for seed in range(6)]
    assert len({int(setup.delays.max()) for setup in setups}) > 3
    assert [d_of(setup) for setup in setups] == pytest.approx([11] * 6)


@pytest.mark.parametrize(
    ("delays", "d"),
    [
        ("[]", 1),
        ("[{type: rounds, rounds: 12, jitter: 9, distribution: uniform}]", 21),
        ("[{type: rounds, rounds: 25}]", 25),
        ("[{type: rounds, rounds: 25, probability: 0.01}]", 25),
        ("[{type: rounds, rounds: 25}, {type: rounds, rounds: 5}, {type: drop}]", 29),
        ("[{type: ramp, start: 30, stop: 2, step: 1, interval: 5}]", 30),
        ("[{type: blackout, at: 7, duration: 40}]", 41),
        ("[{type: rounds, rounds: 9000}]", T),
    ],
)
def test_a_lone_learner_reckons_with_what_its_delays_declare(delays: str, d: int) -> None:
    assert d_of(alone(delays)) == pytest.approx(d)


@pytest.mark.parametrize(
    ("fault", "d"),
    [
        ("{type: latency, latency: 750ms}", 4),
        ("{type: latency, latency: 2s, jitter: 500ms}", 11),
        ("{type: latency, jitter: 1s, distribution: exponential}", 5),
        ("{type: ramp, start: 0s, stop: 5s, step: 1s, interval: 10s}", 21),
        ("{type: blackout, at: 10s, duration: 10s}", 41),
    ],
)
def test_times_become_rounds_by_the_pace(fault: str, d: int) -> None:
    assert d_of(alone(f"[{fault}]", "clock=wall", "pace=250ms")) == pytest.approx(d)


def test_a_bound_that_is_declared_is_taken_in_place_of_the_delays() -> None:
    setup = alone("[{type: rounds, rounds: 25}]", "algorithm.delay_bound=50")
    assert d_of(setup) == pytest.approx(50)
    assert setup.rate.reason == f"1/sqrt(d T), T = {T}, d = 50 (algorithm.delay_bound)"
    network = ["delays=[]", "algorithm.horizon=400", "algorithm.delay_bound=16"]
    assert d_of(resolve(load("default", network), TINY)) == pytest.approx(16)


def test_the_published_settings_keep_their_rates_and_say_why() -> None:
    lone = resolve(load("paper-centralized"), synthetic(6000, features=9, classes=3, seed=0))
    assert lone.zeta == pytest.approx(1 / math.sqrt(21 * 1000))
    assert lone.rate.reason == "1/sqrt(d T), T = 1000, d = 21 (declared by delays.0, rounds)"
    network = resolve(load("paper-distributed"), TINY)
    assert network.zeta == 1 / math.sqrt(1000)
    assert network.rate.reason.startswith("1/sqrt(T), T = 1000: the published rate of a network")
    given = resolve(load("paper-distributed", ["algorithm.rate=0.5"]), TINY)
    assert (given.zeta, given.rate.reason) == (0.5, "given as algorithm.rate")


def test_the_theorems_schedule_bounds_the_total_delay_by_what_is_declared() -> None:
    delays = "delays=[{agents: [0], type: rounds, rounds: 4}, {agents: [1], type: drop}]"
    settings = ["clock=rounds", "algorithm.schedule=theorem", "algorithm.horizon=40", delays]
    setup = resolve(load("default", settings), TINY)
    B = (most_total_delay(4, 40) + 7 * 40) / 8
    assert setup.zeta == pytest.approx(1 / (setup.constants[0] * math.sqrt(B)))
    assert "d = 1 to 4 (declared by delays.0, rounds; not counted: delays.1, drop)" in setup.rate.reason
    assert first_rounds(setup, 5).zeta == setup.zeta  # rates are the horizon's


def test_the_most_total_delay_is_that_of_a_constant_one() -> None:
    for d, rounds in [(1, 100), (7, 100), (100, 100), (501, 1000), (2000, 1000)]:
        assert most_total_delay(d, rounds) == total_delay(np.full((1, rounds), d))[0]


def test_agents_get_the_rate_whatever_delays_come() -> None:
    setup = alone("[{type: rounds, rounds: 9}]")
    late = replace(setup, delays=np.full((1, T), 300))
    assert late.agent_spec(0).zeta == setup.agent_spec(0).zeta == setup.zeta
