"""A run folder, checked in all ways there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.errors import RecordError
from edgefw.verification.record import read
from edgefw.verification.verdict import Verdict, refused, verify

if TYPE_CHECKING:
    from edgefw.records import RunFolder


def check_folder(folder: RunFolder, *, regret: bool = False) -> Verdict:
    """Replay the run in a folder, and check its regret if that is wanted; show how far that is."""
    try:
        with terminal.status("reading the run"):
            recorded = read(folder)
    except RecordError as error:
        raise RecordError(refused(folder.path, str(error))) from None
    with terminal.progress_bar(f"replaying {recorded.setup.scenario.name}", len(recorded.rounds)) as progress:
        return verify(recorded, progress, regret=regret)
