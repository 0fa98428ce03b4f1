"""What was found about the record of a run, from all that can be checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from edgefw.errors import RecordError, UnverifiedError
from edgefw.records import environment
from edgefw.scenario.extensions import origins, origins_from_json
from edgefw.verification.arrivals import check_arrivals
from edgefw.verification.messages import check_messages
from edgefw.verification.payloads import Payloads
from edgefw.verification.regret import check_regret
from edgefw.verification.replay import TOLERANCE, PlayComparison, Progress, Replay, check_whole
from edgefw.verification.summary import check_summary

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.verification.record import Recorded


@dataclass(frozen=True)
class Verdict:
    """What was found."""

    rounds: int  # that were replayed
    planned: int  # that the scenario has: more where the run was cut short
    plays: int
    identical: int
    mismatch: str | None  # the first play that differs from its replay, in one line
    other_build: str | None  # how this machine differs from the one that ran it, if it does
    deviation: float  # of cumulative losses: the largest over agents, relative
    wrong: str | None = None  # what cannot be true on any machine: the first, in one line
    unchecked: tuple[str, ...] = ()  # what could not be checked, a line each

    @property
    def refusal(self) -> str | None:
        """Why the record is not believed; None if nothing speaks against it."""
        if self.wrong is not None or self.mismatch is None:
            return self.wrong
        return None if self.other_build is not None and self.deviation <= TOLERANCE else self.mismatch

    @property
    def passed(self) -> bool:
        """Whether all is as it should be: checked in full, every play bit for bit."""
        return self.refusal is None and self.mismatch is None and not self.unchecked

    def lines(self) -> list[str]:
        """Return what was found, in words."""
        first = f"{self.identical} of {self.plays} plays are identical, {self.rounds} rounds were replayed"
        if self.rounds < self.planned:
            first += f" (the run was cut short: {self.planned} were planned)"
        if self.refusal is not None:
            return [first]
        builds = [self._about_build()] if self.other_build is not None else []
        return [first, *builds, *(f"not checked: {each}" for each in self.unchecked)]

    def require(self, path: Path) -> None:
        """Raise where the run in `path` is not what was recorded, or could not be checked in full."""
        if self.refusal is not None:
            raise RecordError(refused(path, self.refusal))
        if self.mismatch is not None:
            raise UnverifiedError(f"{path} is not verified bit for bit: verify it with the build that ran it")
        if self.unchecked:
            raise UnverifiedError(f"{path} is not verified in full: {self.unchecked[0]}")

    def _about_build(self) -> str:
        line = f"this is another build than the run's ({self.other_build}), where the last bits may differ"
        if self.mismatch is None:
            return f"{line}: they do not"
        return (
            f"{line}: cumulative losses agree within {self.deviation:.2g}, {TOLERANCE:g} is allowed; "
            f"first difference at {self.mismatch}"
        )


def refused(path: Path, why: str) -> str:
    """Return the line that says why the record in `path` is not believed."""
    return f"{path} is not what the replay gives: first at {why}"


def verify(recorded: Recorded, progress: Progress | None = None, *, regret: bool = False) -> Verdict:
    """Check a run in all ways there are; with `regret`, search for the best fixed point once more."""
    comparison = PlayComparison(recorded.setup.n)
    wrong: str | None = None
    unchecked: tuple[str, ...] = ()
    other_build: str | None = None
    try:
        other_build = _other_build(recorded)
        with threadpool_limits(1):
            _replay(recorded, comparison, progress)
        unchecked = check_arrivals(recorded)
        check_messages(recorded)
        check_summary(recorded)
        if regret:
            unchecked += check_regret(recorded)
    except RecordError as error:
        wrong = str(error)
    return Verdict(
        rounds=len(recorded.rounds),
        planned=recorded.setup.rounds,
        plays=len(recorded.rounds) * recorded.setup.n,
        identical=comparison.identical,
        mismatch=comparison.mismatch,
        other_build=other_build,
        deviation=comparison.deviation,
        wrong=wrong,
        unchecked=unchecked,
    )


def _replay(recorded: Recorded, comparison: PlayComparison, progress: Progress | None) -> None:
    payloads = Payloads(recorded.account)
    replay = Replay(recorded.setup, payloads.observed)
    for rows in recorded.rounds:
        check_whole(recorded.setup, rows)
        comparison.add(rows, replay.round(rows), payloads.mismatch)
        if progress is not None:
            progress(rows[0].round)


def _other_build(recorded: Recorded) -> str | None:
    """Return in what this machine, and what is installed on it, differs from those of the run, or None."""
    meta, here = recorded.meta, environment()
    different = [
        f"{key} {meta.get(key)} there, {here[key]} here" for key in here if meta.get(key) != here[key]
    ]
    there = origins_from_json(meta.get("extensions", "{}"))
    for field, origin in origins(recorded.setup.scenario).items():
        if there.get(field) != origin:
            different.append(f"{field} {there.get(field)} there, {origin} here")
    return "; ".join(different) or None
