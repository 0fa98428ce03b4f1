"""Scenarios run as a network of processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefw.api.run import Run, load_run
from edgefw.errors import InputError
from edgefw.local import emulation
from edgefw.local.liveview import PlainView, View
from edgefw.scenario.load import Source, load
from edgefw.virtual import emulation as virtually

if TYPE_CHECKING:
    import os


def emulate(
    scenario: Source,
    *,
    out: str | os.PathLike[str] | None = None,
    memory: bool = False,
    show: bool = False,
    virtual: bool = False,
) -> Run:
    """Run a scenario as processes on this machine, every service one of its own, and wait for its end.

    The run's folder is `out`, or a new one in runs/. With `memory` the broker keeps nothing on disk. With
    `show`, standard error gets a line of progress now and then, and the address of the live page. With
    `virtual` the same services share this process and its virtual time: the run is exact, and need not wait.

    Ctrl-C ends all services, with a summary of what was played: then KeyboardInterrupt is raised, and
    `load_run` reads the folder. May be called where an event loop is running, as in a notebook.
    """
    place = None if out is None else Path(out)
    view = PlainView if show else View
    if virtual and memory:
        raise InputError("memory is for a broker with a journal: leave it out with virtual, which has none")
    if virtual:
        done = virtually.emulate(load(scenario), place, view)
    else:
        done = emulation.emulate(load(scenario), place, view, memory=memory)
    done.require_whole()
    return load_run(done.folder.path)
