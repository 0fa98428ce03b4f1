"""Costs that are measured in turn, and how they are held against a floor."""

from __future__ import annotations

import pytest

from edgefw.benchmarks.measure import Costs, Median, UnitCost, in_turn


def test_things_take_turns_so_that_a_busy_moment_meets_all_of_them() -> None:
    order: list[str] = []
    told: list[tuple[int, int]] = []

    def thing(name: str, cost: UnitCost) -> UnitCost:
        order.append(name)
        return cost

    measured = in_turn(
        {
            "floor": lambda: thing("floor", UnitCost(1.0, 2.0)),
            "ours": lambda: thing("ours", UnitCost(3.0, 3.0)),
        },
        3,
        lambda done, of: told.append((done, of)),
    )
    assert order == ["floor", "ours"] * 3
    assert told == [(done, 6) for done in range(1, 7)]
    assert measured["ours"].costs == (UnitCost(3.0, 3.0),) * 3


def test_a_ratio_is_that_of_neighbours_in_time_not_of_medians() -> None:
    floor = Costs("floor", (UnitCost(1.0, 1.0), UnitCost(10.0, 10.0), UnitCost(2.0, 2.0)))
    ours = Costs("ours", (UnitCost(2.0, 3.0), UnitCost(20.0, 30.0), UnitCost(5.0, 6.0)))
    ratio = ours.beside(floor)
    assert (ratio.thing, ratio.floor) == ("ours", "floor")
    assert ratio.wall == Median(2.0, 2.0, 2.5)
    assert ratio.cpu == Median(3.0, 3.0, 3.0)


def test_a_thing_and_its_floor_are_measured_equally_often() -> None:
    with pytest.raises(ValueError, match="zip"):
        Costs("ours", (UnitCost(1.0, 1.0),) * 2).beside(Costs("floor", (UnitCost(1.0, 1.0),) * 3))
