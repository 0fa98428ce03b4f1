"""De2MFW as the paper writes it (Algorithm 2): a prediction block, then an update block, K exchanges each.

What stays open there is closed as in `edgefw.core.de2mfw`, but naively: who got nothing sends zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.messages import Feedback, Play, mix, observe
from edgefw.core.oracle import Ftpl, Ogd, Oracle, make_noise, step_towards
from edgefw.delays.book import ArrivalBook

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from edgefw.problem.feasible.base import Real
    from edgefw.scenario.setup import Setup


class TwoBlock:
    """All agents of De2MFW, block by block."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.agents = range(setup.n)
        self.oracles = [_oracle(setup, i) for i in self.agents]
        self.start = setup.feasible.start().astype(setup.dtype)
        self.zero = np.zeros_like(self.start)

    def predict(self, t: int) -> list[Play]:
        """Lines 3-10: every agent's queries x_{t,1}..x_{t,K} and its play x_{t,K+1}."""
        x = [self.start for _ in self.agents]
        queries: list[list[Real]] = [[] for _ in self.agents]
        for k, eta in enumerate(self.setup.steps, start=1):
            for i in self.agents:
                queries[i].append(x[i])
            v = [oracle.answer(t, k) for oracle in self.oracles]
            y = [self._mix(i, x) for i in self.agents]
            x = [step_towards(y[i], float(eta), v[i]) for i in self.agents]
        return [Play(t, x[i], queries[i]) for i in self.agents]

    def update(self, arrivals: Sequence[Sequence[Feedback]]) -> None:
        """Lines 15-21, every agent taking part: `arrivals` has F^i_t of each, by round."""
        g = [self._sum([f.gradient(0) for f in arrivals[i]]) for i in self.agents]
        for k in range(1, len(self.setup.steps) + 1):
            d = [self._mix(i, g) for i in self.agents]
            for i in self.agents:
                self.oracles[i].feed(k, d[i])
            if k < len(self.setup.steps):
                g = [d[i] + self._sum([f.difference(k) for f in arrivals[i]]) for i in self.agents]

    def _mix(self, i: int, values: Sequence[Real]) -> Real:
        weights = self.setup.weights(i)
        mixed = mix(weights, {j: values[j] for j in weights})
        assert mixed is not None
        return mixed

    def _sum(self, values: Sequence[Real]) -> Real:
        total = self.zero
        for value in values:
            total = total + value
        return total


def two_block_plays(setup: Setup) -> Iterator[list[Play]]:
    """Yield the plays of every round: predict, play, receive F_t, update."""
    network, book = TwoBlock(setup), ArrivalBook(setup.delays)
    pending: list[dict[int, Feedback]] = [{} for _ in network.agents]
    for t in range(1, setup.rounds + 1):
        played = network.predict(t)
        yield played
        for i, play in enumerate(played):
            pending[i][t] = observe(setup.loss, play, *setup.batch(i, t))[1]
        here = book.at(t)
        network.update([[pending[i].pop(s) for s in here.get(i, ())] for i in network.agents])


def _oracle(setup: Setup, i: int) -> Oracle:
    K = len(setup.steps)
    if setup.scenario.algorithm.oracle == "ogd":
        return Ogd(setup.feasible, K, setup.zeta, setup.dtype)
    noise = make_noise(setup.noise, setup.feasible.shape, K, seed=setup.scenario.seed, agent=i)
    return Ftpl(setup.feasible, K, setup.zeta, noise, setup.dtype)
