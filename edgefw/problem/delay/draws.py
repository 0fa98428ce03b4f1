"""Counter-based randomness: what is drawn for a round depends on the round, not on what was drawn before.

A generator with a state would tie the delay of a message to the order in which messages came. Philox
(Salmon et al., 2011) is a keyed bijection of a counter instead: the key is (seed, agent, salt of the fault),
the counter is the round, and one block of the cipher is the four numbers of that round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

AMOUNT, GATE = 0, 1
"""Which of a round's four numbers decides how much, and which decides whether (2 and 3 are in reserve)."""

BELOW_ONE = np.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class Stream:
    """The numbers of one fault on one agent's link."""

    seed: int
    agent: int
    salt: int

    @cached_property
    def _key(self) -> NDArray[np.uint64]:
        words = np.random.SeedSequence(self.seed, spawn_key=(self.agent, self.salt))
        return words.generate_state(2, np.uint64).astype(np.uint64)

    def uniforms(self, rounds: range) -> NDArray[np.float64]:
        """Return (len(rounds), 4) numbers in [0, 1), a row a round; `rounds` are consecutive, from 0 on.

        >>> stream = Stream(seed=7, agent=3, salt=0)
        >>> bool((stream.uniforms(range(5, 6))[0] == stream.uniforms(range(1, 10))[4]).all())
        True
        """
        if rounds.step != 1 or rounds.start < 0:
            raise ValueError(f"{rounds} are not consecutive rounds from 0 on")
        bits = np.random.Philox(key=self._key, counter=rounds.start).random_raw(4 * len(rounds))
        return (bits >> np.uint64(11)).astype(np.float64).reshape(-1, 4) * 2.0**-53

    def amounts(self, rounds: range, correlation: float = 0.0) -> NDArray[np.float64]:
        """Return (len(rounds),) numbers in [0, 1) that decide how much, blended with the round before."""
        both = self.uniforms(range(rounds.start - 1, rounds.stop))[:, AMOUNT]
        return blend(both[1:], both[:-1], correlation)

    def gates(self, rounds: range) -> NDArray[np.float64]:
        """Return (len(rounds),) numbers in [0, 1) that decide whether."""
        return self.uniforms(rounds)[:, GATE]


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
