"""The simulator's own promises: what a round says, what it keeps, and a run as a function of its seed."""

from __future__ import annotations

from inspect import getgeneratorlocals
from types import GeneratorType
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tiny
from hypothesis import given, settings

from edgefw import simulator
from edgefw.core.agent import ALGORITHMS
from edgefw.delays.book import ArrivalBook
from edgefw.problem.loss import NAMES as LOSSES
from edgefw.simulator import De2mfwNetwork, arrived, in_lockstep, play, simulate

if TYPE_CHECKING:
    from edgefw.scenario.setup import Setup


def lone_or_networked(name: str, **options: int | str) -> Setup:
    return tiny.setup(agents=4 if ALGORITHMS[name].distributed else 1, algorithm={"name": name, **options})


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["de2mfw", "distributed-dgd"])
def test_a_round_gives_the_loss_on_the_own_batch_and_the_mean_over_all_batches(name: str, loss: str) -> None:
    setup = tiny.setup(agents=4, algorithm={"name": name}, problem={"loss": loss, "batch": 3})
    trace = simulate(setup)
    for t, played in enumerate(tiny.plays(setup), start=1):
        each = np.array(
            [
                [setup.loss.value(x.point @ features.T, labels) for features, labels in _batches(setup, t)]
                for x in played
            ]
        )  # f_t^j(x_t^i) at [i, j]
        np.testing.assert_allclose(trace.local_loss[t - 1], each.diagonal(), rtol=0, atol=1e-9)
        np.testing.assert_allclose(trace.global_loss[t - 1], each.mean(axis=1), rtol=0, atol=1e-9)


def _batches(setup: Setup, t: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [setup.batch(i, t) for i in range(setup.n)]


@settings(deadline=None, max_examples=40)
@given(tiny.networks())
def test_residuals_are_kept_exactly_as_long_as_somebody_waits_for_them(setup: Setup) -> None:
    network, book = De2mfwNetwork(setup), ArrivalBook(setup.delays)
    s = np.arange(1, setup.rounds + 1)
    arrival = s + setup.delays - 1  # (n, rounds)
    for t in range(1, setup.rounds + 1):
        network.sweep(t, arrived(book, t - 1))
        waited_for = ((arrival >= t) & (arrival < setup.rounds)).any(axis=0) & (s <= t)
        assert sorted(network._history._residuals) == s[waited_for].tolist()
    assert not network._history._residuals


@settings(deadline=None, max_examples=20)
@given(tiny.networks(name="distributed-dgd"))
def test_in_lockstep_too_feedback_that_never_comes_is_not_kept(setup: Setup) -> None:
    """It holds the features: a run of drops would otherwise keep all the data it has seen."""
    arrival = np.arange(1, setup.rounds + 1) + setup.delays - 1
    run = in_lockstep(setup)
    assert isinstance(run, GeneratorType)
    for t in range(1, setup.rounds + 1):
        next(run)
        to_come = (arrival >= t) & (arrival < setup.rounds) & (np.arange(1, setup.rounds + 1) <= t)
        assert len(getgeneratorlocals(run)["on_its_way"]) == to_come.sum()


def test_a_constant_delay_keeps_as_many_rounds_as_it_is_long() -> None:
    setup = tiny.setup(rounds=25, delays=tiny.DELAYS["constant"])
    network, book = De2mfwNetwork(setup), ArrivalBook(setup.delays)
    kept = []
    for t in range(1, setup.rounds + 1):
        network.sweep(t, arrived(book, t - 1))
        kept.append(len(network._history._residuals))
    assert max(kept) == 4
    assert kept[-1] == 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_progress_is_told_once_a_round(name: str) -> None:
    told: list[int] = []
    setup = lone_or_networked(name, stop_after=5)
    trace = simulate(setup, told.append)
    assert told == [1, 2, 3, 4, 5]
    assert trace.local_loss.shape == trace.global_loss.shape == (5, setup.n)
    assert trace.local_loss.dtype == trace.global_loss.dtype == np.float64
    assert np.isfinite(trace.global_loss).all()


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_same_seed_gives_the_same_bits_and_another_one_another_run(name: str, precision: str) -> None:
    def run(seed: int) -> bytes:
        agents = 4 if ALGORITHMS[name].distributed else 1
        trace = simulate(tiny.setup(agents=agents, seed=seed, precision=precision, algorithm={"name": name}))
        return trace.local_loss.tobytes() + trace.global_loss.tobytes()

    assert run(1) == run(1)
    assert run(1) != run(2)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_only_de2mfw_is_vectorised(name: str) -> None:
    setup = lone_or_networked(name)
    rounds, agents = list(play(setup)), list(in_lockstep(setup))
    assert [each.t for each in rounds] == [each.t for each in agents] == list(range(1, setup.rounds + 1))
    for one, other in zip(rounds, agents, strict=True):
        np.testing.assert_allclose(one.global_loss, other.global_loss, rtol=0, atol=1e-9)
        assert name == "de2mfw" or np.array_equal(one.global_loss, other.global_loss)


@pytest.mark.parametrize("oracle", ["ftpl", "ogd"])
@pytest.mark.parametrize("width", [1, 2])
def test_classes_may_be_worked_on_a_few_at_a_time(
    oracle: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fits the cache here does not with real data: there, an update takes its classes in pieces."""
    setup = tiny.setup(algorithm={"oracle": oracle}, delays=tiny.DELAYS["uniform"])
    whole = simulate(setup)
    one_class = 3 * setup.n * setup.feasible.shape[1] * setup.dtype.itemsize
    monkeypatch.setattr(simulator, "_CACHE", width * one_class)
    pieces = simulate(setup)
    np.testing.assert_allclose(pieces.global_loss, whole.global_loss, rtol=0, atol=1e-12)


def test_the_plays_of_a_network_may_be_asked_for_at_any_time() -> None:
    setup = tiny.setup(delays=tiny.DELAYS["uniform"])
    asked, silent = De2mfwNetwork(setup), De2mfwNetwork(setup)
    book = ArrivalBook(setup.delays)
    for t in range(1, setup.rounds + 1):
        first = asked.sweep(t, arrived(book, t - 1))
        assert np.array_equal(asked.plays(), asked.plays())
        second = silent.sweep(t, arrived(book, t - 1))
        assert np.array_equal(first.global_loss, second.global_loss)
