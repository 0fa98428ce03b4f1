from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from edgefw.delays.due_queue import DueQueue, Key
from edgefw.errors import InputError

KEYS = st.tuples(st.integers(0, 3), st.integers(1, 6))
TIMES = st.one_of(st.integers(0, 9), st.floats(0, 9), st.just(math.inf))


class AgainstADictionary(RuleBasedStateMachine):
    """The queue does what a dictionary that is searched from end to end does."""

    def __init__(self) -> None:
        super().__init__()
        self.queue, self.model = DueQueue(), dict[Key, float]()

    @rule(key=KEYS, due=TIMES)
    def push(self, key: Key, due: float) -> None:
        self.queue.push(key, due)
        self.model[key] = due

    @rule(key=KEYS)
    def remove(self, key: Key) -> None:
        assert self.queue.remove(key) == (self.model.pop(key, None) is not None)

    @rule(now=TIMES)
    def pop(self, now: float) -> None:
        expected = sorted((due, key) for key, due in self.model.items() if due <= now)
        assert self.queue.pop_due(now) == [key for _, key in expected]
        for _, key in expected:
            del self.model[key]

    @invariant()
    def agree(self) -> None:
        assert len(self.queue) == len(self.model)
        assert self.queue.next_due() == min(self.model.values(), default=None)
        assert all(key in self.queue for key in self.model)


TestAgainstADictionary = AgainstADictionary.TestCase
TestAgainstADictionary.settings = settings(deadline=None, max_examples=150, stateful_step_count=40)


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(KEYS, st.floats(0, 100)), st.lists(st.floats(0, 120)).map(sorted))
def test_nothing_is_early_nothing_is_forgotten_and_the_order_is_that_of_due_times(
    due: dict[Key, float], clock: list[float]
) -> None:
    queue, released = DueQueue(), []
    for key, time in due.items():
        queue.push(key, time)
    for now in clock:
        popped = queue.pop_due(now)
        assert all(due[key] <= now for key in popped)
        released += popped
    last = clock[-1] if clock else -1.0
    assert sorted(released) == sorted(key for key, time in due.items() if time <= last)
    assert [(due[key], key) for key in released] == sorted((due[key], key) for key in released)


def test_ties_go_by_agent_then_by_round() -> None:
    queue = DueQueue()
    for key in [(2, 1), (0, 10), (0, 9), (1, 3)]:
        queue.push(key, 5)
    assert queue.pop_due(4.999) == []
    assert queue.pop_due(5) == [(0, 9), (0, 10), (1, 3), (2, 1)]


def test_a_key_that_is_pushed_again_moves() -> None:
    queue = DueQueue()
    queue.push((0, 1), 9.0)
    queue.push((0, 1), 2.0)
    queue.push((0, 1), 4.0)
    assert (len(queue), queue.next_due()) == (1, 4.0)
    assert queue.pop_due(3.0) == []
    assert queue.pop_due(10.0) == [(0, 1)]
    assert queue.next_due() is None


def test_moves_and_removals_do_not_pile_up() -> None:
    queue = DueQueue()
    for step in range(10_000):
        queue.push((0, 1), float(step))
        queue.push((1, step), 0.5)
        queue.remove((1, step))
    assert len(queue._heap) < 200
    assert queue.pop_due(math.inf) == [(0, 1)]


def test_a_due_time_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="agent 2, round 7: a due time has to be a number"):
        DueQueue().push((2, 7), math.nan)
