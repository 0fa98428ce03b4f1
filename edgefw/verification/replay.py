"""Replay a recorded run through the core in memory, and hold every play against what was recorded.

Chance decides only which feedback arrived when. That is recorded, so the rest follows: on the same build of
numpy every play has to come out the same, bit for bit. Another build adds in another order; there, losses are
compared within a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, gradient_norm, observe
from edgefw.core.regret import global_losses
from edgefw.errors import RecordError
from edgefw.records import PlayRow, content_hash, play_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgefw.problem.feasible.base import Real
    from edgefw.scenario.setup import Setup

TOLERANCE = 1e-3  # of an agent's cumulative loss, across builds
WHOLE_TOLERANCE = 1e-4  # of the loss of a play that is kept whole, across builds: no round before it matters

Progress = Callable[[int], None]


class Replay:
    """The agents of the run once more, in one place, fed with the recorded arrivals."""

    def __init__(self, setup: Setup, observed: Callable[[int, Feedback, float], None]) -> None:
        """`observed` is told the agent, the feedback of every play, and the norm of its gradient."""
        self._setup, self._agents, self._observed = setup, setup.agents(), observed
        self._unused: dict[tuple[int, int], Feedback] = {}  # by agent and round

    def round(self, rows: Sequence[PlayRow]) -> list[PlayRow]:
        """Play the next round; return its rows as they should have been recorded."""
        setup, t = self._setup, rows[0].round
        plays = sweep(self._agents, t, {row.agent: self._arrivals(row) for row in rows})
        features, labels = setup.batches(t)
        losses = global_losses(setup.loss, [play.point for play in plays], features, labels)
        again = []
        for row, play, network in zip(rows, plays, losses, strict=True):
            i, point = row.agent, play_bytes(play.point)
            local, feedback = observe(setup.loss, play, features[i], labels[i])
            self._unused[i, t] = feedback
            self._observed(i, feedback, gradient_norm(setup.loss, play, features[i], labels[i]))
            hash_ = content_hash(point)
            again.append(replace(row, local_loss=local, global_loss=float(network), hash=hash_, point=point))
        return again

    def _arrivals(self, row: PlayRow) -> list[Feedback]:
        for s in row.arrivals:
            if (row.agent, s) not in self._unused:
                raise RecordError(
                    f"round {row.round}, agent {row.agent}: feedback of round {s} was used before, "
                    "and cannot arrive again"
                )
        return [self._unused.pop((row.agent, s)) for s in row.arrivals]


class PlayComparison:
    """Rows as they were recorded against rows as they should have been."""

    def __init__(self, n: int) -> None:
        self.identical = 0
        self.mismatch: str | None = None  # the first
        self._sums = np.zeros((2, 2, n))  # recorded and replayed, local and global, by agent

    @property
    def deviation(self) -> float:
        """How far apart cumulative losses are: the largest over agents, relative to the recorded one."""
        recorded, replayed = self._sums
        return float((abs(replayed - recorded) / np.maximum(recorded, 1e-300)).max())

    def add(self, rows: Sequence[PlayRow], again: Sequence[PlayRow], payload: str | None) -> None:
        """Compare a round; `payload` is the first payload that differs from what the broker had."""
        differences = [_difference(row, other) for row, other in zip(rows, again, strict=True)]
        self.identical += differences.count(None)
        self.mismatch = self.mismatch or next(filter(None, differences), payload)
        self._sums += [_losses(rows), _losses(again)]


def check_whole(setup: Setup, rows: Sequence[PlayRow]) -> None:
    """Refuse plays kept whole that are not what was hashed or scored, whatever build this is."""
    features, labels = setup.batches(rows[0].round)
    for row in rows:
        if row.point is None:
            continue
        place = f"round {row.round}, agent {row.agent}"
        if content_hash(row.point) != row.hash:
            raise RecordError(f"{place}: the play that is kept whole is not the one that was hashed")
        loss = float(global_losses(setup.loss, [_point(place, row.point, setup)], features, labels)[0])
        if not math.isclose(loss, row.global_loss, rel_tol=WHOLE_TOLERANCE):
            raise RecordError(f"{place}: the global loss is {row.global_loss!r}, the kept play has {loss!r}")


def _point(place: str, kept: bytes, setup: Setup) -> Real:
    found: Real = np.frombuffer(kept[: len(kept) & ~3], dtype="<f4").astype(np.float32)
    if len(kept) != 4 * setup.feasible.size or not np.isfinite(found).all():
        raise RecordError(f"{place}: the play that is kept whole is no play of this run")
    return found.reshape(setup.feasible.shape)


def _losses(rows: Sequence[PlayRow]) -> NDArray[np.float64]:
    return np.array([[row.local_loss for row in rows], [row.global_loss for row in rows]])


def _difference(row: PlayRow, again: PlayRow) -> str | None:
    """Return the first thing in which a recorded play differs from its replay, or None."""
    place = f"round {row.round}, agent {row.agent}"
    if row.hash != again.hash:
        return f"{place}: the play's hash is {row.hash}, the replay's {again.hash}"
    for name in ("local_loss", "global_loss"):
        recorded, replayed = getattr(row, name), getattr(again, name)
        if recorded != replayed:
            return f"{place}: the {name.replace('_', ' ')} is {recorded!r}, the replay's {replayed!r}"
    return None
