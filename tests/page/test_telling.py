"""Whoever follows a story message by message knows all of it; so does whoever was away."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import page_client
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.core.account import Entry, Kind
from edgefw.page.telling import AGENTS, Teller

if TYPE_CHECKING:
    from edgefw.page.story import Story

Told = dict[str, Any]


def numbers(text: str) -> list[float]:
    found = np.frombuffer(base64.b64decode(text), dtype="<f4")
    return [None if np.isnan(value) else float(value) for value in found]  # type: ignore[misc]


class Follower:
    """What a browser does with messages."""

    def __init__(self, teller: Teller, n: int) -> None:
        self._teller, self._n = teller, n
        self.mark: str | None = None
        self.curves: dict[str, list[float]] = {}
        self.events: list[Any] = []

    def listen(self) -> None:
        self.mark, text = self._teller.message(self.mark)
        message = json.loads(text)
        for name in ("rounds", "pace", "network_regret", *AGENTS):
            width = self._n if name in AGENTS else 1
            known = self.curves.setdefault(name, [])
            del known[message["first"] * width :]
            known += numbers(message[name])
        del self.events[message["events_from"] :]
        self.events += message["events"]


def teller(story: Story, groups: list[list[int]] | None = None, name: str = "run") -> Teller:
    return Teller(lambda: story, name, groups, dict)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["", "compare", "event"])), max_size=8))
def test_a_follower_knows_what_a_newcomer_is_told(steps: list[tuple[int, str]]) -> None:
    story = page_client.story(2, 0, network={"agents": 2})
    follower = Follower(teller(story), 2)
    for moment, (rounds, then) in enumerate(steps, start=1):
        page_client.go_on(story, rounds)
        if then == "compare":
            story.compare_with(np.full(400, 0.1 * moment))
        if then == "event":
            story.take_account([Entry(moment, Kind.BEGUN)])
        follower.listen()
    newcomer = Follower(teller(story), 2)
    newcomer.listen()
    follower.listen()
    assert follower.curves == newcomer.curves
    assert follower.events == newcomer.events


def test_a_follower_of_a_long_run_knows_it_too() -> None:
    story = page_client.story(2, 0)
    follower, newcomer = Follower(teller(story), 2), Follower(teller(story), 2)
    for _ in range(25):
        page_client.go_on(story, 100)
        follower.listen()
    newcomer.listen()
    assert follower.curves == newcomer.curves
    assert follower.curves["rounds"][-1] == 2500


@pytest.mark.parametrize(
    "mark", [None, "", "run", "another 1 2 3", "run 1 2", "run x y z", "run " + "9" * 40]
)
def test_who_has_no_mark_of_this_story_is_told_all(mark: str | None) -> None:
    message = json.loads(teller(page_client.story()).message(mark)[1])
    assert message["first"] == 0
    assert len(numbers(message["rounds"])) == 10


def test_nothing_new_is_told_in_few_words() -> None:
    told = teller(page_client.story(3, 300))
    mark, everything = told.message()
    again, nothing = told.message(mark)
    assert again == mark
    assert len(nothing) < 1000 < len(everything)


def test_groups_are_shown_by_their_mean_and_their_worst() -> None:
    story = page_client.story(4, 5)
    story.take_round(np.array([1.0, 3.0, 5.0, 9.0]), [()] * 4, [1, 7, 2, 3])
    message = json.loads(teller(story, [[0, 1], [2, 3]]).message()[1])
    assert numbers(message["queue"])[-2:] == [7, 3]
    assert numbers(message["loss"])[-2:] == [2, 7]
