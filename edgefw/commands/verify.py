"""`edgefw verify`: replay an emulated run and say whether every play is what the algorithm plays."""

from __future__ import annotations

from pathlib import Path

from edgefw import terminal
from edgefw.errors import EdgefwError
from edgefw.records import RunFolder
from edgefw.services.observer.replay import TOLERANCE, Verdict, read, verify


def run(run_folder: str) -> None:
    """Replay the run in a folder; raise where it is not what was recorded."""
    recorded = read(RunFolder(Path(run_folder)))
    rounds = len(recorded.rounds)
    with terminal.progress_bar(f"replaying {recorded.setup.scenario.name}", rounds) as progress:
        verdict = verify(recorded, progress)
    line = f"{verdict.identical} of {verdict.plays} plays are identical, {rounds} rounds were replayed"
    if rounds < recorded.setup.rounds:
        line += f" (the run was cut short: {recorded.setup.rounds} were planned)"
    terminal.out.print(line)
    if verdict.other_build is not None:
        terminal.out.print(_about_build(verdict))
    if not verdict.passed:
        raise EdgefwError(f"{run_folder} is not what the replay gives: first at {verdict.mismatch}")


def _about_build(verdict: Verdict) -> str:
    line = f"this is another build than the run's ({verdict.other_build}), where the last bits may differ"
    if verdict.mismatch is None:
        return f"{line}: they do not"
    return (
        f"{line}: cumulative losses agree within {verdict.deviation:.2g}, {TOLERANCE:g} is allowed; "
        f"first difference at {verdict.mismatch}"
    )
