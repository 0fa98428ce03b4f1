"""Replay a recorded run through the core in memory, and hold every play against what was recorded.

Chance decides only which feedback arrived when. That is recorded, so the rest follows: on the same build of
numpy every play has to come out the same, bit for bit. Another build adds in another order; there, losses are
compared within a tolerance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, observe
from edgefw.core.regret import global_losses
from edgefw.errors import InputError
from edgefw.records import DATABASE, PlayRow, RunFolder, environment, play_bytes, play_hash
from edgefw.scenario.load import load
from edgefw.scenario.setup import resolve

if TYPE_CHECKING:
    from edgefw.scenario.setup import Setup

TOLERANCE = 1e-3  # of an agent's cumulative loss, across builds

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Verdict:
    """What a replay found."""

    rounds: int
    plays: int
    identical: int
    mismatch: str | None  # the first, in one line
    other_build: str | None  # how this machine differs from the one that ran it, if it does
    deviation: float  # of cumulative losses: the largest over agents, relative

    @property
    def passed(self) -> bool:
        """Whether every play is identical or, on another build, the losses agree."""
        if self.mismatch is None:
            return True
        return self.other_build is not None and self.deviation <= TOLERANCE


@dataclass(frozen=True)
class Recorded:
    """A run folder, read and found fit to be replayed."""

    setup: Setup
    rounds: Sequence[Sequence[PlayRow]]  # one row an agent, in order
    meta: Mapping[str, str]


def read(folder: RunFolder) -> Recorded:
    """Read a run; whatever keeps it from being replayed is said in one line."""
    if not folder.scenario_path.exists():
        raise InputError(f"{folder.path} is not the folder of a run: it has no scenario.yaml")
    rows, meta = folder.rows(), folder.meta()
    if not rows:
        raise InputError(f"{folder.path / DATABASE} has no plays: no round of this run was completed")
    if any(row.hash is None for row in rows):
        raise InputError(
            f"{folder.path} was simulated, no play is on record: verify is for runs of `edgefw up`"
        )
    setup = resolve(load(str(folder.scenario_path)))
    _check_origin(folder, setup, meta)
    rounds = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row.round)]
    for t, group in enumerate(rounds, start=1):
        if [(row.round, row.agent) for row in group] != [(t, i) for i in range(setup.n)]:
            raise InputError(f"{folder.path / DATABASE} is not whole: plays of round {t} are missing")
    return Recorded(setup, rounds, meta)


def _check_origin(folder: RunFolder, setup: Setup, meta: Mapping[str, str]) -> None:
    digest = setup.scenario.digest
    if meta.get("digest") != digest:
        raise InputError(
            f"{folder.scenario_path} has digest {digest}, the run was of {meta.get('digest')}: "
            "restore the scenario, or use the version of edgefw that ran it"
        )
    if meta.get("data_digest") != setup.dataset.digest:
        raise InputError(
            f"the run was on {meta.get('data')} with digest {meta.get('data_digest', '')[:16]}, "
            f"found here is {setup.dataset.name} with {setup.dataset.digest[:16]}: get the same data set"
        )


def verify(recorded: Recorded, progress: Progress | None = None) -> Verdict:
    """Replay a run and compare."""
    comparison = _Comparison(recorded.setup.n)
    with threadpool_limits(1):
        replay = _Replay(recorded.setup)
        for rows in recorded.rounds:
            try:
                comparison.add(rows, replay.round(rows))
            except _Impossible as error:
                comparison.break_off(str(error))
                break
            if progress is not None:
                progress(rows[0].round)
    rounds = len(recorded.rounds)
    return Verdict(
        rounds=rounds,
        plays=rounds * recorded.setup.n,
        identical=comparison.identical,
        mismatch=comparison.first,
        other_build=_other_build(recorded.meta),
        deviation=comparison.deviation,
    )


class _Impossible(Exception):  # noqa: N818 - it says what was found, and ends the replay
    """The recorded arrivals cannot have been."""


class _Replay:
    """The agents of the run once more, in one place, fed with the recorded arrivals."""

    def __init__(self, setup: Setup) -> None:
        self._setup, self._agents = setup, setup.agents()
        self._on_its_way: dict[tuple[int, int], Feedback] = {}  # by agent and round

    def round(self, rows: Sequence[PlayRow]) -> list[PlayRow]:
        """Play the next round; return its rows as they should have been recorded."""
        setup, t = self._setup, rows[0].round
        plays = sweep(self._agents, t, {row.agent: self._arrivals(row) for row in rows})
        features, labels = setup.batches(t)
        losses = global_losses(setup.loss, [play.point for play in plays], features, labels)
        again = []
        for row, play, network in zip(rows, plays, losses, strict=True):
            i, point = row.agent, play_bytes(play.point)
            local, self._on_its_way[i, t] = observe(setup.loss, play, features[i], labels[i])
            again.append(
                replace(row, local_loss=local, global_loss=float(network), hash=play_hash(point), point=point)
            )
        return again

    def _arrivals(self, row: PlayRow) -> list[Feedback]:
        for s in row.arrivals:
            if (row.agent, s) not in self._on_its_way:
                raise _Impossible(
                    f"round {row.round}, agent {row.agent}: feedback of round {s} cannot have arrived, "
                    "it was used before or is not of an earlier round"
                )
        return [self._on_its_way.pop((row.agent, s)) for s in row.arrivals]


class _Comparison:
    """Rows as they were recorded against rows as they should have been."""

    def __init__(self, n: int) -> None:
        self.identical = 0
        self.first: str | None = None
        self._sums = np.zeros((2, n))
        self._broken = False

    @property
    def deviation(self) -> float:
        """How far apart cumulative losses are: the largest over agents, relative to the recorded one."""
        recorded, replayed = self._sums
        return (
            math.inf
            if self._broken
            else float((abs(replayed - recorded) / np.maximum(recorded, 1e-300)).max())
        )

    def add(self, rows: Sequence[PlayRow], again: Sequence[PlayRow]) -> None:
        """Compare a round."""
        differences = [_difference(row, other) for row, other in zip(rows, again, strict=True)]
        self.identical += differences.count(None)
        self.first = self.first or next(filter(None, differences), None)
        self._sums += [[row.global_loss for row in rows], [other.global_loss for other in again]]

    def break_off(self, reason: str) -> None:
        """Note that the rest cannot be replayed."""
        self.first, self._broken = self.first or reason, True


def _difference(row: PlayRow, again: PlayRow) -> str | None:
    """Return the first thing in which a recorded play differs from its replay, or None."""
    place = f"round {row.round}, agent {row.agent}"
    if row.hash != again.hash:
        return f"{place}: the play's hash is {row.hash}, the replay's {again.hash}"
    if row.point is not None and row.point != again.point:
        return f"{place}: the play that is kept whole is not the one that was hashed"
    for name in ("local_loss", "global_loss"):
        recorded, replayed = getattr(row, name), getattr(again, name)
        if recorded != replayed:
            return f"{place}: the {name.replace('_', ' ')} is {recorded!r}, the replay's {replayed!r}"
    return None


def _other_build(meta: Mapping[str, str]) -> str | None:
    """Return in what this machine differs from the one of the run, or None."""
    here = environment()
    different = [
        f"{key} {meta.get(key)} there, {here[key]} here" for key in here if meta.get(key) != here[key]
    ]
    return "; ".join(different) or None
