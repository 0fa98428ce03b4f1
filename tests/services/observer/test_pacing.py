"""The pace that a run reaches is measured, over its last rounds."""

from __future__ import annotations

import math

import pytest

from edgefw.services.observer.pacing import WINDOW, Pacing


class Clock:
    """A clock that goes on when told to."""

    def __init__(self) -> None:
        self.now = 100.0


def played(rounds: int, seconds: float, clock: Clock, pacing: Pacing, first: int = 1) -> None:
    for t in range(first, first + rounds):
        clock.now += seconds
        pacing.completed(t)
        pacing.completed(t)  # it is told with every report


def test_a_pace_is_not_known_before_two_rounds_are_played() -> None:
    clock = Clock()
    pacing = Pacing(lambda: clock.now)
    pacing.completed(0)
    played(1, 0.5, clock, pacing)
    assert math.isnan(pacing.seconds())
    played(1, 0.5, clock, pacing, first=2)
    assert pacing.seconds() == pytest.approx(0.5)


def test_rounds_that_are_complete_together_count_one_by_one() -> None:
    clock = Clock()
    pacing = Pacing(lambda: clock.now)
    pacing.completed(10)
    clock.now += 2
    pacing.completed(14)
    assert pacing.seconds() == pytest.approx(0.5)


def test_the_pace_is_that_of_the_last_rounds() -> None:
    clock = Clock()
    pacing = Pacing(lambda: clock.now)
    played(100, 0.25, clock, pacing)
    assert pacing.seconds() == pytest.approx(0.25)
    played(WINDOW, 1.0, clock, pacing, first=101)
    assert pacing.seconds() == pytest.approx(1.0)
