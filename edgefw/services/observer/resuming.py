"""Which run an observer goes on with: the last one, if it was killed in it or is told to continue.

The record says how its observer ended. One that was killed wrote no end: whoever starts in its place goes on
with the run, whatever the scenario says. After an end in order it is `resume` that decides.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from edgefw.errors import InputError
from edgefw.records import DATABASE, SCENARIO, RunFolder, unused
from edgefw.records.database import ENDED, NOT, STOPPED
from edgefw.records.sqlite_files import was_set_aside
from edgefw.scenario.load import dump, load

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.scenario.model import Scenario

log = logging.getLogger(__name__)


def folder_of(runs: Path, scenario: Scenario, now: float) -> RunFolder:
    """Return the folder of the run to observe: the last one of `runs`, or a new one; `now` is since 1970."""
    last = _last(runs)
    if last is not None and _goes_on(last, scenario):
        log.info("going on with the run in %s", last.path)
        return last
    return RunFolder.create(unused(runs, scenario.name, now), dump(scenario))


def _last(runs: Path) -> RunFolder | None:
    """Return the folder of the run that was begun last."""
    begun = [(path.stat().st_mtime_ns, path.parent) for path in runs.glob(f"*/{SCENARIO}")]
    return RunFolder(max(begun)[1]) if begun else None


def _goes_on(folder: RunFolder, scenario: Scenario) -> bool:
    with suppress(InputError):  # of another version, say
        if load(str(folder.scenario_path)).digest == scenario.digest:
            ended = _ended(folder)
            return ended == NOT or (ended == STOPPED and scenario.resume == "continue")
    return False


def _ended(folder: RunFolder) -> str | None:
    """Return how the observer of a run ended; None where its record is lost."""
    database = folder.path / DATABASE
    if not database.exists():
        return None if was_set_aside(database) else NOT
    try:
        return folder.meta().get(ENDED)
    except InputError:  # damaged: whoever opens it to write sets it aside
        return NOT
