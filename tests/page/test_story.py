"""The story of a run is what its rows and its account say, computed directly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import recorded_run
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.account import Entry, Kind
from edgefw.delays.book import ArrivalBook, total_delay
from edgefw.page.folder import read_scenario, read_story
from edgefw.page.story import Bookmark, Story
from edgefw.records import RunDatabase
from edgefw.scenario.model import Scenario
from edgefw.simulator import arrived

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

DELAYS = st.tuples(st.integers(1, 4), st.integers(1, 12)).flatmap(lambda shape: tiny.delay_tables(*shape))
NS = 10**9


def scenario(agents: int = 2, rounds: int = 12, clock: str = "rounds", **more: object) -> Scenario:
    document = {"clock": clock, "network": {"agents": agents}, "algorithm": {"horizon": rounds}, **more}
    return Scenario.model_validate(document)


def played(story: Story, table: NDArray[np.int64]) -> NDArray[np.float64]:
    """Tell a story of a run with these delays; return its losses (rounds, n)."""
    n, rounds = table.shape
    losses = np.random.default_rng(1).random((rounds, n))
    book, queue = ArrivalBook(table), np.zeros(n)
    for t in range(1, rounds + 1):
        arrivals = arrived(book, t - 1)
        came = [tuple(arrivals.get(i, ())) for i in range(n)]
        queue += [1 - len(each) for each in came]
        story.take_round(losses[t - 1], came, queue)
    return losses


@settings(deadline=None, max_examples=100)
@given(DELAYS)
def test_curves_are_what_the_rounds_add_up_to(table: NDArray[np.int64]) -> None:
    n, rounds = table.shape
    story = Story(scenario(n, rounds), accounted=False)
    losses = played(story, table)
    fixed = np.linspace(0.1, 0.4, rounds)
    story.compare_with(fixed)
    found = story.columns()
    np.testing.assert_allclose(found.loss, losses)
    np.testing.assert_allclose(found.network_loss, losses.max(axis=1))
    regret = losses.cumsum(axis=0) - fixed.cumsum()[:, None]
    np.testing.assert_allclose(found.regret, regret, atol=1e-9)
    for t in range(1, rounds + 1):
        np.testing.assert_array_equal(found.total_delay[t - 1], total_delay(table[:, :t]))
    np.testing.assert_allclose(found.ratio, regret / np.sqrt(found.total_delay), atol=1e-9)
    for t in range(2, rounds + 1):
        for i in range(n):
            came = [table[i, s] for s in range(t - 1) if s + table[i, s] == t - 1]
            expected = max(came, default=np.nan)
            np.testing.assert_array_equal(found.delay[t - 1, i], expected)
            np.testing.assert_array_equal(found.observed[t - 1, i], expected)


def test_a_run_without_an_account_is_told_in_rounds_whatever_the_clock_of_its_scenario() -> None:
    table = np.full((2, 12), 3, dtype=np.int64)
    story = Story(scenario(2, 12, clock="wall", pace="1s"), accounted=False)
    played(story, table)
    story.take_planned(table, 12, [(10,), ()])
    assert story.clock == "rounds"
    found = story.columns()
    np.testing.assert_array_equal(found.observed, found.delay)
    assert found.observed[-1, 0] == found.requested[-1, 0] == 3


def test_a_long_run_keeps_its_sums() -> None:
    n, rounds = 2, 2500
    story = Story(scenario(n, rounds), accounted=False)
    losses = played(story, np.full((n, rounds), 2, dtype=np.int64))
    found = story.columns()
    assert 200 < len(found.rounds) <= 400
    length = np.diff(found.rounds, prepend=0)
    np.testing.assert_allclose((found.loss * length[:, None]).sum(axis=0), losses.sum(axis=0))
    np.testing.assert_array_equal(found.total_delay[-1], [2 * rounds - 1] * n)
    assert np.isnan(found.regret).all()


@settings(deadline=None, max_examples=50)
@given(DELAYS, st.integers(0, 12))
def test_who_follows_a_story_has_all_of_it(table: NDArray[np.int64], before: int) -> None:
    n, rounds = table.shape
    followed = Story(scenario(n, rounds), accounted=False)
    played(followed, table[:, :before])
    mark, known = followed.mark(), followed.columns()
    for t in range(followed.rounds, rounds):  # it goes on
        followed.take_round(np.full(n, float(t)), [()] * n, np.zeros(n))
    first = followed.first_changed(mark)
    assert first <= len(known.rounds)
    news = followed.columns(first)
    np.testing.assert_array_equal(np.concatenate([known.loss[:first], news.loss]), followed.columns().loss)
    assert followed.first_changed(Bookmark()) == 0


def test_a_fixed_point_that_comes_changes_everything() -> None:
    story = Story(scenario(2, 5), accounted=False)
    played(story, np.ones((2, 5), dtype=np.int64))
    mark = story.mark()
    assert story.first_changed(mark) == 5
    story.compare_with(np.zeros(5))
    assert story.first_changed(mark) == 0


def test_delays_are_those_of_the_account() -> None:
    """By the wall clock: from acceptance to the due time, and to the moment when the agent is sent it."""
    story = Story(scenario(1, 9, "wall"))
    story.take_account(
        [
            Entry(1 * NS, Kind.BEGUN),
            Entry(2 * NS, Kind.ACCEPTED, 0, 1, 1, 4 * NS),
            Entry(3 * NS, Kind.ACCEPTED, 0, 2, 1, 5 * NS),
            Entry(4 * NS + 1, Kind.RELEASED, 0, 1, 1, 4 * NS),
            Entry(4 * NS + NS // 2, Kind.ACKNOWLEDGED, 0, 1, 1),
        ]
    )
    for _ in range(2):
        story.take_round(np.ones(1), [()], [1])
    found = story.columns()
    assert found.seconds.tolist() == [0.0, 1.0]
    assert found.pace[1] == 1.0
    assert found.requested[1, 0] == 2.0
    assert found.observed[1, 0] == 2 + 1 / NS
    assert np.isnan(found.observed[0, 0])


@pytest.mark.parametrize("first", ["rows", "account"])
def test_what_was_asked_for_is_found_whichever_comes_first(first: str) -> None:
    story = Story(scenario(1, 9))
    accepted = [Entry(NS, Kind.ACCEPTED, 0, 1, 1, 2), Entry(2 * NS, Kind.ACCEPTED, 0, 2, 1, 2)]
    if first == "account":
        story.take_account(accepted)
    for arrivals in ((), (), (1, 2)):
        story.take_round(np.ones(1), [arrivals], [1])
    if first == "rows":
        story.take_account(accepted)
    found = story.columns()
    assert found.requested[:, 0].tolist()[2] == 2
    assert found.observed[:, 0].tolist()[2] == 2


WALL = {"clock": "wall", "pace": "1s", "delays": [{"type": "latency", "latency": "3s", "agents": [1]}]}


@pytest.mark.parametrize("changes", [{}, WALL], ids=["rounds", "wall"])
def test_a_folder_tells_its_run(tmp_path: Path, changes: dict[str, object]) -> None:
    folder = recorded_run.recorded(tmp_path / "run", **changes)
    story = read_story(folder, read_scenario(folder))
    rows, found = folder.rows(), story.columns()
    assert story.rounds == rows[-1].round
    for row in rows:
        assert found.loss[row.round - 1, row.agent] == pytest.approx(row.global_loss)
        assert found.queue[row.round - 1, row.agent] == row.outstanding
    assert np.isfinite(found.pace[1:]).all()
    assert np.isnan(found.regret).all()
    database = RunDatabase(folder, {"digest": folder.meta()["digest"]})
    database.compare([0.25] * story.rounds)
    database.close()
    again = read_story(folder, read_scenario(folder)).columns()
    cumulative = found.loss.cumsum(axis=0)
    np.testing.assert_allclose(again.regret, cumulative - 0.25 * found.rounds[:, None])


def test_what_delays_cost_is_the_distance_from_the_run_without_them() -> None:
    story = Story(scenario(2), accounted=False)
    losses = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]])
    for each in losses:
        story.take_round(each, [(), ()], [1, 1])
    assert np.isnan(story.columns().cost).all()
    mark = story.mark()
    story.take_prompt(np.array([[1.0, 2.0], [1.0, 0.5]]))
    assert story.first_changed(mark) == 0
    columns = story.columns()
    np.testing.assert_array_equal(columns.cost, [[0.0, 0.0], [2.0, 0.5], [np.nan, np.nan]])
    np.testing.assert_array_equal(columns.network_cost, [0.0, 1.5, np.nan])  # of the worst: 4 against 2.5
    story.take_prompt(np.array([[2.0, 2.0]]))
    assert story.columns().network_cost[-1] == 1.5


def test_the_last_digits_of_two_sums_are_no_cost() -> None:
    story = Story(scenario(2), accounted=False)
    story.take_round(np.array([1.0, 2.0]), [(), ()], [1, 1])
    story.take_prompt(np.array([[1.0 + 1e-7, 2.0 - 1e-3]]))
    np.testing.assert_allclose(story.columns().cost, [[0.0, 1e-3]])
