"""What was found about the record of a run, from all that can be checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from edgefw.errors import RecordError
from edgefw.records import environment
from edgefw.verification.arrivals import check_arrivals
from edgefw.verification.payloads import Payloads
from edgefw.verification.replay import TOLERANCE, Comparison, Progress, Replay, check_whole
from edgefw.verification.summary import check_summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgefw.verification.record import Recorded


@dataclass(frozen=True)
class Verdict:
    """What was found."""

    rounds: int
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


def verify(recorded: Recorded, progress: Progress | None = None) -> Verdict:
    """Check a run in all ways there are."""
    comparison = Comparison(recorded.setup.n)
    wrong: str | None = None
    unchecked: tuple[str, ...] = ()
    try:
        with threadpool_limits(1):
            _replay(recorded, comparison, progress)
        unchecked = check_arrivals(recorded)
        check_summary(recorded)
    except RecordError as error:
        wrong = str(error)
    return Verdict(
        rounds=len(recorded.rounds),
        plays=len(recorded.rounds) * recorded.setup.n,
        identical=comparison.identical,
        mismatch=comparison.mismatch,
        other_build=_other_build(recorded.meta),
        deviation=comparison.deviation,
        wrong=wrong,
        unchecked=unchecked,
    )


def _replay(recorded: Recorded, comparison: Comparison, progress: Progress | None) -> None:
    payloads = Payloads(recorded.account)
    replay = Replay(recorded.setup, payloads.observed)
    for rows in recorded.rounds:
        check_whole(recorded.setup, rows)
        comparison.add(rows, replay.round(rows), payloads.mismatch)
        if progress is not None:
            progress(rows[0].round)


def _other_build(meta: Mapping[str, str]) -> str | None:
    """Return in what this machine differs from the one of the run, or None."""
    here = environment()
    different = [
        f"{key} {meta.get(key)} there, {here[key]} here" for key in here if meta.get(key) != here[key]
    ]
    return "; ".join(different) or None
