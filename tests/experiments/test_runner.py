"""Runs, here or on several processes: the same numbers, all of the progress, and nobody left behind."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from tiny import delay_tables
from tiny import setup as tiny_setup

from edgefw.core.regret import Comparator
from edgefw.errors import EdgefwError, InputError
from edgefw.experiments import runner
from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve
from edgefw.simulator import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.scenario.model import Scenario
    from edgefw.scenario.setup import Setup

SMALL = [
    "data.source=synthetic",
    "data.samples=200",
    "data.features=20",
    "data.classes=4",
    "network.agents=3",
    "delays=[]",
    "algorithm.horizon=9",
]
ENDLESS = ["algorithm.horizon=1000000000", "algorithm.sub_iterations=3", "algorithm.stop_after=200000"]


def scenario(seed: int, *overrides: str) -> Scenario:
    return load("default", [*SMALL, f"seed={seed}", *overrides])


def test_one_process_and_two_give_the_same_numbers_in_the_same_order() -> None:
    scenarios = [scenario(seed) for seed in (3, 1, 2)]
    here, there = runner.run_all(scenarios, jobs=1), runner.run_all(scenarios, jobs=2)
    assert [outcome.scenario for outcome in there] == scenarios
    for mine, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(mine.trace.global_loss, theirs.trace.global_loss)
        np.testing.assert_array_equal(mine.trace.local_loss, theirs.trace.local_loss)
    assert not np.array_equal(here[0].trace.global_loss, here[1].trace.global_loss)
    assert not multiprocessing.active_children()


def test_progress_counts_the_rounds_of_all_runs() -> None:
    seen: list[int] = []
    runner.run_all([scenario(1), scenario(2, "algorithm.stop_after=4")], seen.append, jobs=1)
    assert seen == list(range(1, 14))
    seen.clear()
    runner.run_all([scenario(1), scenario(2, "algorithm.stop_after=4")], seen.append, jobs=2)
    assert seen == sorted(seen)
    assert seen[-1] == 13


def test_what_goes_wrong_in_another_process_is_said_in_this_one() -> None:
    apart = scenario(1, "network.topology=edges", "network.edges=[[0, 1]]")
    endless = scenario(1, *ENDLESS)
    with pytest.raises(InputError, match=r"network\.edges: the graph is not connected"):
        runner.run_all([apart, endless], jobs=2)  # does not wait for the other one
    assert not multiprocessing.active_children()


def test_a_process_that_dies_is_said_in_one_line() -> None:
    def kill(rounds: int) -> None:
        if rounds:
            for child in multiprocessing.active_children()[:1]:  # none, once the pool has ended the others
                child.kill()

    long = [scenario(seed, *ENDLESS) for seed in (1, 2)]
    with pytest.raises(EdgefwError, match=r"a simulation process died \(out of memory\?\): try again with"):
        runner.run_all(long, kill, jobs=2)
    assert not multiprocessing.active_children()


def test_an_interrupt_ends_the_other_processes_and_only_those() -> None:
    bystander = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,), daemon=True)
    bystander.start()

    def interrupt(rounds: int) -> None:
        if rounds:
            raise KeyboardInterrupt

    long = [scenario(seed, *ENDLESS) for seed in (1, 2)]
    with pytest.raises(KeyboardInterrupt):
        runner.run_all(long, interrupt, jobs=2)
    assert multiprocessing.active_children() == [bystander]
    bystander.terminate()
    bystander.join()


def test_losses_that_are_not_finite_are_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    losses = np.ones((9, 3))
    losses[4, 1] = np.nan
    monkeypatch.setattr(runner, "simulate", lambda *_: Trace(losses, losses))
    with pytest.raises(EdgefwError, match=r"the losses of round 5 are not finite: lower problem\.radius or"):
        runner.run(resolve(scenario(1)))


PLAIN = tiny_setup(agents=3, rounds=8)


@given(delay_tables(3, 8))
@settings(deadline=None, max_examples=40)
def test_rows_account_for_every_feedback(table: NDArray[np.int64]) -> None:
    setup = replace(PLAIN, delays=table)
    losses = np.arange(24.0).reshape(8, 3)
    rows = list(runner.rows(setup, runner.Outcome(setup.scenario, Trace(losses, losses + 100), 0.0)))
    assert [(row.round, row.agent) for row in rows] == [(t, i) for t in range(1, 9) for i in range(3)]
    assert [row.local_loss for row in rows] == losses.ravel().tolist()
    assert [row.global_loss for row in rows] == (losses + 100).ravel().tolist()
    for i in range(3):
        used: list[int] = []
        for row in rows[i::3]:
            # the play of round t uses what has arrived up to round t - 1
            assert list(row.arrivals) == [s for s in range(1, 9) if s + table[i, s - 1] == row.round]
            used += row.arrivals
            assert row.outstanding == row.round - len(used)
        assert len(used) == len(set(used))


def test_a_summary_counts_what_the_algorithm_would_send() -> None:
    def said(setup: Setup) -> tuple[int, int]:
        summary = runner.summarise(setup, runner.run(setup), None)
        return summary.messages, summary.bytes

    cycle = tiny_setup(agents=6, rounds=4)  # K = 2: two exchanges a round, both ways on six edges
    assert said(cycle) == (2 * 6 * 2 * 4, 2 * 6 * 2 * 4 * 2 * 21 * 8)
    line = tiny_setup(agents=6, rounds=4, network={"topology": "line"}, algorithm={"name": "distributed-dgd"})
    assert said(line) == (2 * 5 * 4, 2 * 5 * 4 * 21 * 8)
    assert said(tiny_setup(agents=1, rounds=4, algorithm={"name": "delmfw"})) == (0, 0)


def test_a_summary_is_about_its_run() -> None:
    late = tiny_setup(agents=3, rounds=6, delays=[{"type": "rounds", "rounds": 4, "agents": [1]}])
    outcome = runner.run(late)
    summary = runner.summarise(late, outcome, Comparator(1.5, 0.25))
    assert (summary.agents, summary.rounds, summary.mode) == (3, 6, "simulate")
    assert (summary.digest, summary.seed, summary.data) == (late.scenario.digest, 5, "tiny")
    assert summary.unused == 3  # of rounds 3, 4 and 5
    assert [each.total_delay for each in summary.per_agent] == [6, 4 + 4 + 4 + 3 + 2 + 1, 6]
    assert summary.total_delay == pytest.approx(10)
    assert summary.total_loss == pytest.approx(outcome.trace.global_loss.max(axis=1).sum())
    assert summary.network_regret == pytest.approx(outcome.trace.global_loss.sum(axis=0).max() - 1.5)


def test_the_comparator_of_a_run_is_good_enough_for_its_regret() -> None:
    setup = tiny_setup(agents=3, rounds=9)
    outcome = runner.run(setup)
    found = runner.best_point(setup, outcome).comparator
    regret = outcome.trace.global_loss.sum(axis=0).max() - found.value
    assert 0 <= found.gap <= 0.01 * regret
