"""Counter-based randomness: what is drawn for a round depends on the round, not on what was drawn before.

A generator with a state would tie the delay of a message to the order in which messages came. Philox
(Salmon et al., 2011) is a keyed bijection of a counter instead: the key is (seed, link, salt of the fault),
the counter is the round, and one block of the cipher is the four numbers of that round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

SomeRounds = range | NDArray[np.int64]
"""Rounds, in any order; a range of them is consecutive."""

AMOUNT, GATE, RANK = 0, 1, 2
"""Which of a round's four numbers decides how much, whether, how large beside others (3 is in reserve)."""

_GAP = 128
"""Rounds to draw for nothing rather than to start the cipher again behind them: it costs about as much."""

BELOW_ONE = np.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class Draws:
    """The numbers of one fault on one link: `link` is what tells it from others (see `LinkId.key`)."""

    seed: int
    link: tuple[int, ...]
    salt: int

    @cached_property
    def _key(self) -> NDArray[np.uint64]:
        words = np.random.SeedSequence(self.seed, spawn_key=(*self.link, self.salt))
        return words.generate_state(2, np.uint64).astype(np.uint64)

    def uniforms(self, rounds: range) -> NDArray[np.float64]:
        """Return (len(rounds), 4) numbers in [0, 1), a row a round; `rounds` are consecutive, from 0 on.

        >>> draws = Draws(seed=7, link=(3,), salt=0)
        >>> bool((draws.uniforms(range(5, 6))[0] == draws.uniforms(range(1, 10))[4]).all())
        True
        """
        if rounds.step != 1 or rounds.start < 0:
            raise ValueError(f"{rounds} are not consecutive rounds from 0 on")
        words = np.random.Philox(key=self._key, counter=rounds.start).random_raw(4 * len(rounds))
        return (words >> np.uint64(11)).astype(np.float64).reshape(-1, 4) * 2.0**-53  # their first 53 bits

    def at(self, rounds: SomeRounds, which: int) -> NDArray[np.float64]:
        """Return (len(rounds),) numbers in [0, 1): number `which` of every round."""
        if isinstance(rounds, range):
            return self.uniforms(rounds)[:, which]
        if not len(rounds):
            return np.zeros(0)
        first, last = int(rounds.min()), int(rounds.max())
        if last - first <= len(rounds) + _GAP:
            return self.uniforms(range(first, last + 1))[:, which][rounds - first]
        there, place = np.unique(rounds, return_inverse=True)
        runs = np.split(there, np.flatnonzero(np.diff(there) > _GAP) + 1)
        drawn = [self.uniforms(range(int(run[0]), int(run[-1]) + 1))[run - run[0], which] for run in runs]
        return np.concatenate(drawn)[place]

    def amounts(self, rounds: SomeRounds, correlation: float = 0.0) -> NDArray[np.float64]:
        """Return (len(rounds),) numbers in [0, 1) that decide how much, blended with the round before."""
        if not correlation:
            return self.at(rounds, AMOUNT)
        now = np.asarray(rounds, dtype=np.int64)
        return blend(self.at(now, AMOUNT), self.at(now - 1, AMOUNT), correlation)

    def gates(self, rounds: SomeRounds) -> NDArray[np.float64]:
        """Return (len(rounds),) numbers in [0, 1) that decide whether."""
        return self.at(rounds, GATE)

    def ranks(self, rounds: SomeRounds) -> NDArray[np.float64]:
        """Return (len(rounds),) numbers in [0, 1) in place of ranks that nobody knows."""
        return self.at(rounds, RANK)


def blend(now: NDArray[np.float64], before: NDArray[np.float64], correlation: float) -> NDArray[np.float64]:
    """Return uniforms that lean on the draws of the round before, without recursion.

    x = (1 - c/2) now + (c/2) before is put through its own distribution function (a trapezium's), so that
    it is uniform again and a distribution keeps its shape. Weights beyond one half would only swap the roles
    of the two rounds, so correlation 1 is the half-and-half blend, whose lag-1 correlation is about one half.
    """
    a = correlation / 2
    if a == 0:
        return now
    b = 1 - a
    x = a * before + b * now
    low, high = np.minimum(x, a), np.minimum(1 - x, a)
    middle = (np.clip(x, a, b) - a / 2) / b
    blended = np.where(x < a, low * low / (2 * a * b), np.where(x > b, 1 - high * high / (2 * a * b), middle))
    return np.clip(blended, 0.0, BELOW_ONE)
