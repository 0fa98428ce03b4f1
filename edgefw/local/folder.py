"""The folder of an emulated run: made before its services start, with the scenario that they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefw.records import RunFolder
from edgefw.scenario.load import dump
from edgefw.services.emulable import check_emulable, pin

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.scenario.setup import Setup


def prepare(setup: Setup, path: Path) -> RunFolder:
    """Make the run folder of an emulated run, with the scenario that its observer reads."""
    check_emulable(setup.scenario)
    return RunFolder.create(path, dump(pin(setup).scenario))


def journal_path(path: Path) -> Path:
    """Return the broker's journal in a run folder."""
    return path / "journal.sqlite"


def remove_journal(path: Path) -> None:
    """Remove the broker's journal from a run folder, with the files that belong to it."""
    for file in path.glob(f"{journal_path(path).name}*"):
        file.unlink(missing_ok=True)
