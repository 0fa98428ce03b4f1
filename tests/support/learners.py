"""Lone learners, two of which handle delay badly, and how the regret they come to grows with the delay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from tiny import plays

from edgefw import best
from edgefw.core.algorithm import Alone
from edgefw.core.regret import global_losses
from edgefw.delays.book import most_total_delay
from edgefw.experiments.growth import Growth
from edgefw.problem.synthetic import synthetic
from edgefw.scenario.load import load
from edgefw.scenario.setup import Setup, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgefw.core.algorithm import Learner
    from edgefw.core.messages import Feedback, Play

    Wrap = Callable[[Learner, int], Learner]

T = 400
DELAYS = (1, 3, 6, 10, 19, 38, 76, 152, T)  # the last one: no feedback comes in time for any play
DATA = synthetic(1600, features=30, classes=3, seed=0)


class Deaf:
    """Learns from what comes at once and ignores all late feedback."""

    def __init__(self, inner: Learner, d: int) -> None:  # noqa: ARG002 - it does not care
        self._inner = inner

    def play(self, t: int) -> Play:
        """Play as the inner learner does."""
        return self._inner.play(t)

    def update(self, t: int, arrivals: Sequence[Feedback]) -> None:
        """Hand on what is not late."""
        self._inner.update(t, [feedback for feedback in arrivals if feedback.round == t])


class Sleepy(Deaf):
    """Hears nothing for sixteen times the delay, then learns: its regret is linear in the delay."""

    def __init__(self, inner: Learner, d: int) -> None:
        super().__init__(inner, d)
        self._wakes = 16 * (d - 1)

    def update(self, t: int, arrivals: Sequence[Feedback]) -> None:
        """Hand on everything, once it is awake."""
        self._inner.update(t, arrivals if t > self._wakes else [])


def growth(wrap: Wrap = lambda learner, _d: learner, *, knows_delay: bool = True) -> Growth:
    """Run DeLMFW, wrapped, with all feedback late by d; certify its regret.

    Its rate is 4/sqrt(B), or 4/sqrt(T) where it does not know of the delay.
    """
    total = [most_total_delay(d, T) for d in DELAYS]
    setups = [_setup(d, 4 / math.sqrt(B if knows_delay else T)) for d, B in zip(DELAYS, total, strict=True)]
    losses = np.array([_loss(setup, wrap, d) for setup, d in zip(setups, DELAYS, strict=True)])
    value = best.comparator(setups[0], float(losses[0])).value
    return Growth(np.array(total, dtype=np.float64), losses[None] - value)


def _setup(d: int, rate: float) -> Setup:
    settings = ["problem.batch=8", "algorithm.sub_iterations=12", f"algorithm.horizon={T}"]
    settings += [f"algorithm.rate={rate}", f"delays=[{{type: rounds, rounds: {d}}}]"]
    return resolve(load("paper-centralized", settings), DATA)


def _loss(setup: Setup, wrap: Wrap, d: int) -> float:
    """Return the loss of a whole run."""
    (agent,) = setup.agents()
    assert isinstance(agent, Alone)
    agent.learner = wrap(agent.learner, d)
    return sum(
        float(global_losses(setup.loss, [played[0].point], *setup.batches(t))[0])
        for t, played in enumerate(plays(setup, [agent]), start=1)
    )
