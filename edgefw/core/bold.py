"""BOLD-MFW: delayed feedback handled by a pool of MFW copies, none of which ever waits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.delmfw import Mfw
from edgefw.core.messages import Feedback, Play, in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.core.algorithm import Count, Parts, State


class BoldMfw:
    """Each round is played by a copy that waits for nothing, or a new one; feedback goes back to its copy."""

    name = "bold-mfw"
    queries: Count = "each"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.copies: list[Mfw] = []
        self._idle: list[int] = []
        self._owner: dict[int, int] = {}  # round -> the copy that played it

    def play(self, t: int) -> Play:
        """Let the idle copy with the lowest number play round t."""
        if not self._idle:
            self._idle.append(len(self.copies))
            self._add()
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

    def save(self) -> State:
        """Return the sums of every copy, which ones are idle, and who played what is on its way."""
        sums = {f"copy {i}": copy.save()["leader"] for i, copy in enumerate(self.copies)}
        owner = np.array([*self._owner.items()], dtype=np.int64).reshape(-1, 2)
        return {**sums, "idle": np.array(self._idle, dtype=np.int64), "owner": owner}

    def load(self, state: State) -> None:
        """Go on with the pool of another life."""
        while (name := f"copy {len(self.copies)}") in state:
            self._add().load({"leader": state[name]})
        self._idle = state["idle"].tolist()
        self._owner = dict(state["owner"].tolist())

    def _add(self) -> Mfw:
        self.copies.append(Mfw(replace(self._parts, copy=len(self.copies))))
        return self.copies[-1]
