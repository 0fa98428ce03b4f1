"""Runs as reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.api.run import Run
from edgefw.errors import InputError
from edgefw.records import RunFolder, unused
from edgefw.reports.run_report import write_report

if TYPE_CHECKING:
    import os

FOLDER = "report"  # of one run's report, in the run's folder


def report(
    *runs: Run | str | os.PathLike[str], out: str | os.PathLike[str] | None = None, verify: bool = True
) -> Path:
    """Write one HTML file on some runs, with figures and CSV files beside it; return its path.

    It says what was run, who was late and what that cost against the same run without delays, which is
    simulated for it. With `verify`, emulated runs are replayed. The folder is `out`, or report/ in the run's
    folder, or of several runs a new one in runs/.
    """
    folders = [_folder(run) for run in runs]
    if not folders:
        raise InputError("a report needs a run: give the folder of one, such as runs/default-...")
    if out is not None:
        place = Path(out)
    elif len(folders) == 1:
        place = folders[0].path / FOLDER
    else:
        place = unused(Path("runs"), FOLDER)
    return write_report(folders, place, verify=verify)


def _folder(run: Run | str | os.PathLike[str]) -> RunFolder:
    path = run.path if isinstance(run, Run) else Path(run)
    if path is None:
        raise InputError("a run that was not written cannot be reported: simulate it with out=...")
    return RunFolder(path)
