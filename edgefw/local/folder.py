"""The folder of an emulated run: made before its services start, with the scenario that they run."""

from __future__ import annotations

import shutil
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


def checkpoints_path(path: Path) -> Path:
    """Return where a run folder has the checkpoints of its agents, a folder for each."""
    return path / "checkpoints"


def remove_memories(path: Path) -> None:
    """Remove from a run folder what its services kept to come back: the journal and the checkpoints."""
    for file in path.glob(f"{journal_path(path).name}*"):
        file.unlink(missing_ok=True)
    shutil.rmtree(checkpoints_path(path), ignore_errors=True)
