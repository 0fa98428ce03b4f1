"""Scenarios run as arrays, and the folders of these runs."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext, suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, overload

from edgefw import best, terminal
from edgefw.api.run import Run, load_run
from edgefw.errors import InputError
from edgefw.experiments import runner
from edgefw.history import gather
from edgefw.records import RunFolder, environment, unused
from edgefw.scenario.load import Source, dump, load
from edgefw.scenario.plan import check_simulable, never_met, not_simulated
from edgefw.scenario.setup import Setup, resolve
from edgefw.services.emulable import pin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from edgefw.scenario.model import Scenario

Place = str | os.PathLike[str]


@overload
def simulate(
    scenario: Source,
    *,
    seeds: None = None,
    out: Place | None = None,
    regret: bool = True,
    jobs: int | None = None,
) -> Run: ...


@overload
def simulate(
    scenario: Source, *, seeds: int, out: Place | None = None, regret: bool = True, jobs: int | None = None
) -> list[Run]: ...


def simulate(
    scenario: Source,
    *,
    seeds: int | None = None,
    out: Place | None = None,
    regret: bool = True,
    jobs: int | None = None,
) -> Run | list[Run]:
    """Run a scenario as arrays: once or, with `seeds`, so many times, with its seed and the next ones.

    The run is written to the folder `out` (of several, each to seed-N in it, as soon as it has ended; those
    that are there already are not run again); without `out`, to none. With
    `regret`, the best fixed point is looked for. `jobs` processes run at a time (as many as there are cores).
    """
    place = None if out is None else Path(out)
    runs = simulate_all(load(scenario), seeds, place, writes=out is not None, regret=regret, jobs=jobs)
    return runs[0] if seeds is None else runs


def simulate_all(
    first: Scenario, seeds: int | None, out: Path | None, *, writes: bool, regret: bool, jobs: int | None
) -> list[Run]:
    """Run a scenario with its seed and the ones after it; what is written goes to `out`, or to runs/."""
    many = 1 if seeds is None else seeds
    if many < 1:
        raise InputError(f"seeds is {many}: it must be above 0")
    check_simulable(first)
    with terminal.status("preparing the run"):
        setup = pin(resolve(first))  # what is wrong with it is said now, once, and before a folder is made
    terminal.warn([*never_met(first), *not_simulated(first)])
    scenarios = [load(setup.scenario, {"seed": first.seed + i}) for i in range(many)]
    if seeds is None:
        with _folder(setup.scenario, out) if writes else nullcontext() as folder:
            with terminal.progress_bar(_title(first), setup.rounds) as progress:
                outcome = runner.run(setup, progress)
            with terminal.status("looking for the best fixed point:") as say:
                return [_finish(folder, outcome, setup, regret=regret, say=say)]
    with _folders(scenarios, out, regret=regret) if writes else nullcontext() as folders:
        return _simulate(scenarios, folders or [None] * many, jobs, regret=regret)


def _simulate(
    scenarios: Sequence[Scenario], folders: Sequence[RunFolder | None], jobs: int | None, *, regret: bool
) -> list[Run]:
    """Run all seeds that are not there already, and finish each as soon as it has ended."""
    there = [folder is not None and folder.summary_text() is not None for folder in folders]
    left = [place for place, done in enumerate(there) if not done]
    runs = {place: load_run(folder.path) for place, folder in enumerate(folders) if folder and there[place]}
    if runs:
        terminal.err.print(f"{len(runs)} of {len(folders)} seeds were there already")
    rounds = scenarios[0].algorithm.rounds * len(left)
    with terminal.progress_bar(_title(scenarios[0]), rounds) as progress:
        for position, outcome in runner.as_they_end([scenarios[place] for place in left], progress, jobs):
            place = left[position]
            doing = "best fixed point of" if regret else "writing"
            with progress.saying(f"{doing} seed {outcome.scenario.seed}"):
                runs[place] = _finish(folders[place], outcome, resolve(outcome.scenario), regret=regret)
    return [runs[place] for place in range(len(scenarios))]


def _title(scenario: Scenario) -> str:
    return f"simulating {scenario.name}"


def _finish(
    folder: RunFolder | None,
    outcome: runner.Outcome,
    setup: Setup,
    *,
    regret: bool,
    say: Callable[[str], None] = lambda _: None,
) -> Run:
    """Find the best fixed point, and write the folder if there is one."""
    found = None
    if regret:
        found = runner.best_point(setup, outcome, lambda c: say(f"loss {c.value:.2f}, gap {c.gap:.2f}"))
    summary = runner.summarise(setup, outcome, None if found is None else found.comparator)
    fixed = None if found is None else best.losses(setup, found.point)
    rows = runner.rows(setup, outcome)
    if folder is None:
        history = gather((list(group) for _, group in groupby(rows, attrgetter("round"))), setup.n, fixed)
        return Run(outcome.scenario, None, summary, lambda: history)
    folder.write_rows(rows, setup.meta(summary.mode) | environment(), () if fixed is None else fixed.tolist())
    folder.write_summary(summary)
    return load_run(folder.path)


@contextmanager
def _folder(scenario: Scenario, out: Path | None) -> Iterator[RunFolder]:
    """Make the folder of a run; where the run comes to nothing, so does the folder."""
    path = unused(Path("runs"), scenario.name) if out is None else out
    folder = RunFolder.create(path, dump(scenario))
    with _discarding([folder], path if out is None else None):
        yield folder


@contextmanager
def _folders(scenarios: Sequence[Scenario], out: Path | None, *, regret: bool) -> Iterator[list[RunFolder]]:
    """Make a folder for every seed, or take up those that an interrupted run has left; say how on failure."""
    base = unused(Path("runs"), scenarios[0].name) if out is None else out
    folders: list[RunFolder] = []
    try:
        with _discarding(folders, base if out is None else None):
            folders += (_taken_up(base / f"seed-{each.seed}", each, regret=regret) for each in scenarios)
            yield folders
    except BaseException:
        if finished := sum(folder.summary_text() is not None for folder in folders):
            there = f"{finished} of {len(scenarios)} seeds are in {base}"
            terminal.err.print(f"{there}: the same command with --out {base} goes on from there")
        raise


@contextmanager
def _discarding(folders: list[RunFolder], base: Path | None) -> Iterator[None]:
    """Remove what runs that came to nothing have left, where the block fails, and `base`, made for them."""
    try:
        yield
    except BaseException:
        for folder in reversed(folders):
            folder.discard()
        if base is not None:
            with suppress(OSError):  # a seed that was finished stays in it
                base.rmdir()
        raise


def _taken_up(path: Path, scenario: Scenario, *, regret: bool) -> RunFolder:
    """Make the folder of a seed, or take the one that is there: whole, or to be run once more."""
    folder = RunFolder(path)
    if not folder.is_begun():
        return RunFolder.create(path, dump(scenario))
    if (found := load(str(folder.scenario_path)).digest) != scenario.digest:
        raise InputError(
            f"{path} holds a run of another scenario ({found}): give another --out, or remove it"
        )
    summary = folder.summary()
    if summary is not None and regret and summary.comparator_loss is None:
        folder.withdraw_summary()  # it was run without: once more
    return folder
