"""BOLD-MFW: delayed feedback handled by a pool of MFW copies, none of which ever waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.core.algorithm import Algorithm, alone
from edgefw.core.delmfw import Mfw
from edgefw.core.messages import Feedback, Play, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class BoldMfw:
    """Each round is played by a copy that waits for nothing, or a new one; feedback goes back to its copy."""

    def __init__(self, new_copy: Callable[[int], Mfw]) -> None:
        self._new_copy = new_copy  # called with the number of the copy, from 0
        self.copies: list[Mfw] = []
        self._idle: list[int] = []
        self._owner: dict[int, int] = {}  # round -> the copy that played it

    def play(self, t: int) -> Play:
        """Let the idle copy with the lowest number play round t."""
        if not self._idle:
            self._idle.append(len(self.copies))
            self.copies.append(self._new_copy(len(self.copies)))
        copy = min(self._idle)
        self._idle.remove(copy)
        self._owner[t] = copy
        return self.copies[copy].play(t)

    def update(self, t: int, arrivals: Sequence[Feedback]) -> None:  # noqa: ARG002 - any round will do
        """Hand every feedback to the copy that played its round; that copy is idle again."""
        for feedback in in_order(arrivals):
            copy = self._owner.pop(feedback.round)
            self.copies[copy].update(feedback.round, [feedback])
            self._idle.append(copy)


BOLD_MFW = Algorithm(
    name="bold-mfw",
    make=alone(
        lambda parts: BoldMfw(lambda copy: Mfw(parts.feasible, parts.oracle(copy), parts.steps, parts.dtype))
    ),
)
