"""The helper that plays without delays: it keeps step with the network, and catches up at a small share."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pytest

from edgefw.services.observer.beside import AT_ONCE, AWAY, FREELY, SHARE, PromptPlayer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

ROUND, START = 0.012, 0.8  # seconds of a core: a round of thirty agents, and what is loaded first


class World:
    """A player whose start and rounds take time of a core, and a clock that goes on between requests."""

    def __init__(self, start: float = START) -> None:
        self.now, self.spent, self._costs = 0.0, 0.0, start
        self.told: list[float] = []
        self.player = PromptPlayer(self._start, lambda: self.now, lambda: self.spent)

    def _start(self) -> Iterator[NDArray[np.float64]]:
        self.spent += self._costs
        return self._rounds()

    def _rounds(self) -> Iterator[NDArray[np.float64]]:
        for t in count(1):
            self.spent += ROUND
            yield np.array([float(t)])

    def ask(self, rounds: int, how: str = "") -> int:
        """Return how many rounds are played for a request."""
        (line,) = self.player.answer(f"{rounds} {how}")
        losses = [loss for (loss,) in json.loads(line)]
        self.told += losses
        return len(losses)

    def watch(self, rounds: int, seconds: int) -> int:
        """Ask once a second while a round a second is played; return the rounds there are then."""
        for _ in range(seconds):
            self.now += 1.0
            rounds += 1
            if len(self.told) < rounds:
                self.ask(rounds)
        return rounds


def test_a_first_look_shows_something_at_once_and_pays_for_it() -> None:
    world = World()
    at_once = world.ask(500)
    assert AT_ONCE / ROUND <= at_once <= AT_ONCE / ROUND + 1
    world.watch(500, seconds=18)
    assert len(world.told) == at_once + 18  # it keeps step, and no more: the start is being paid for


@pytest.mark.parametrize("seconds", [20, 60, 200])
def test_catching_up_takes_no_more_than_its_share(seconds: int) -> None:
    world = World()
    world.ask(5000)
    world.watch(5000, seconds)
    in_step = seconds * ROUND
    assert world.spent <= max(START, SHARE * seconds) + AT_ONCE + in_step + 2 * ROUND


def test_it_catches_up_and_every_round_is_told_once() -> None:
    world = World()
    world.ask(100)
    rounds = world.watch(100, seconds=120)
    assert world.told == [float(t) for t in range(1, rounds + 1)]


def test_a_start_on_a_busy_machine_is_not_paid_for_forever() -> None:
    world = World(start=60.0)
    world.ask(100)
    world.watch(100, seconds=80)
    assert len(world.told) == 180


def test_somebody_who_comes_back_is_no_reason_to_hurry() -> None:
    world = World()
    rounds = world.watch(world.ask(10), seconds=60)
    world.now += 1000 * AWAY
    assert world.ask(rounds + 1000) <= AT_ONCE / ROUND + 1


def test_when_all_is_played_there_is_nothing_to_give_way_to() -> None:
    world = World()
    world.ask(500)
    assert world.ask(500, FREELY) + AT_ONCE / ROUND >= 500 - 1
    assert len(world.told) == 500


def test_the_process_loads_nothing_before_somebody_looks() -> None:
    looked = "import sys, edgefw.services.observer.beside; print({'numpy', 'pydantic'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\n"
