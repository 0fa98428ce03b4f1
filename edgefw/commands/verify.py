"""`edgefw verify`: replay an emulated run and say whether its record is true."""

from __future__ import annotations

from pathlib import Path

from edgefw import terminal
from edgefw.errors import RecordError, UnverifiedError
from edgefw.records import RunFolder
from edgefw.verification.record import read
from edgefw.verification.replay import TOLERANCE
from edgefw.verification.verdict import Verdict, verify


def run(run_folder: str) -> None:
    """Check the run in a folder; raise where it is not what was recorded, or could not be checked in full."""
    try:
        recorded = read(RunFolder(Path(run_folder)))
    except RecordError as error:
        raise RecordError(_refused(run_folder, str(error))) from None
    rounds = len(recorded.rounds)
    with terminal.progress_bar(f"replaying {recorded.setup.scenario.name}", rounds) as progress:
        verdict = verify(recorded, progress)
    line = f"{verdict.identical} of {verdict.plays} plays are identical, {rounds} rounds were replayed"
    if rounds < recorded.setup.rounds:
        line += f" (the run was cut short: {recorded.setup.rounds} were planned)"
    terminal.out.print(line)
    if verdict.refusal is not None:
        raise RecordError(_refused(run_folder, verdict.refusal))
    if verdict.other_build is not None:
        terminal.out.print(_about_build(verdict))
    for each in verdict.unchecked:
        terminal.out.print(f"not checked: {each}")
    if not verdict.passed:
        raise UnverifiedError(_why(run_folder, verdict))


def _refused(run_folder: str, why: str) -> str:
    return f"{run_folder} is not what the replay gives: first at {why}"


def _why(run_folder: str, verdict: Verdict) -> str:
    if verdict.mismatch is not None:
        return f"{run_folder} is not verified bit for bit: verify it with the build that ran it"
    return f"{run_folder} is not verified in full: {verdict.unchecked[0]}"


def _about_build(verdict: Verdict) -> str:
    line = f"this is another build than the run's ({verdict.other_build}), where the last bits may differ"
    if verdict.mismatch is None:
        return f"{line}: they do not"
    return (
        f"{line}: cumulative losses agree within {verdict.deviation:.2g}, {TOLERANCE:g} is allowed; "
        f"first difference at {verdict.mismatch}"
    )
