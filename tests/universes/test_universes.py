"""Two hundred universes with fixed seeds: nothing in them is lost, early, used twice or left over."""

from __future__ import annotations

import pytest
from universes.__main__ import told
from universes.draw import universe
from universes.running import run, run_seed
from universes.shrink import shrink

SEEDS = range(200)
AT_ONCE = 10


@pytest.mark.parametrize("first", SEEDS[::AT_ONCE])
def test_in_every_universe_all_is_as_it_must_be(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        outcome = run_seed(seed)
        assert not outcome.failed, told(shrink(outcome))


def test_a_universe_is_a_function_of_its_seed() -> None:
    drawn = next(each for each in map(universe, SEEDS) if len(each.events) > 6)
    once, again = run(drawn, logs=True), run(drawn, logs=True)
    assert once.happened
    assert once.said == again.said
    assert once.steps == again.steps


def test_universes_have_everything_in_them_that_can_happen() -> None:
    drawn = [universe(seed) for seed in SEEDS]
    kinds = {event.kind for each in drawn for event in each.events}
    assert kinds == {"kill", "plan", "cut", "pause", "full", "clock", "stranger"}
    assert {each.clock for each in drawn} == {"wall", "rounds"}
    faults = {fault["type"] for each in drawn for fault in each.document["delays"]}
    types = {"latency", "rounds", "blackout", "ramp", "drop", "gilbert_elliott", "adversary"}
    assert faults == types
    assert any("limits" in each.document for each in drawn)
