"""A fault on one link: the numbers that it draws there, and when it is in force."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from edgefw.delays.fault import Seen
from edgefw.delays.units import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.delays.draws import Draws
    from edgefw.delays.fault import Fault, Rules, Window

Span = tuple[float, float]
"""Moments, [begin, end); either may be infinite."""

ALWAYS: Span = (-math.inf, math.inf)
UNKNOWN = np.zeros(0)  # in place of what nobody asks for
BLOCK = 64  # rounds whose amounts are drawn together: one costs as much as all of them


@dataclass(frozen=True, eq=False)
class OnLink:
    """A fault on one link.

    It is in force in a span of time, in a window of rounds, or (where both are given) where both hold. One
    that is about releases is in force for what comes then, whenever that was sent.
    """

    fault: Fault
    draws: Draws
    rules: Rules
    span: Span = ALWAYS
    window: Window | None = None
    _blocks: dict[int, list[float]] = field(default_factory=dict, repr=False)

    @property
    def first(self) -> int:
        """The first round of its window."""
        return 0 if self.window is None else self.window[0]

    @property
    def stop(self) -> int:
        """The first round after its window."""
        return NEVER if self.window is None or self.window[1] is None else self.window[1]

    def gate(self, rounds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these rounds' messages chance lets it act on."""
        if self.fault.probability == 1:
            return np.ones(len(rounds), dtype=np.bool_)
        return self.draws.gates(rounds) < self.fault.probability

    def meets(self, rounds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these rounds' messages it acts on: in its window, and by chance."""
        met = self.gate(rounds)
        if self.window is not None and not self.fault.about_releases:
            met &= (rounds >= self.first) & (rounds < self.stop)
        return met

    def added(self, s: int) -> float:
        """Return what this fault, a steady one, adds to round s; drawn a block at a time."""
        block, place = divmod(s - 1, BLOCK)
        if block not in self._blocks:
            if len(self._blocks) >= 2:  # rounds come about in order: an older block is done with
                self._blocks.clear()
            self._blocks[block] = self._block(np.arange(block * BLOCK + 1, (block + 1) * BLOCK + 1))
        return self._blocks[block][place]

    def _block(self, rounds: NDArray[np.int64]) -> list[float]:
        amounts = self.fault.adds(Seen(rounds, UNKNOWN, None, self.draws), self.rules.clock)
        added: list[float] = np.where(self.meets(rounds), 0.0 if amounts is None else amounts, 0.0).tolist()
        return added
