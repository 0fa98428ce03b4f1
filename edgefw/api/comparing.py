"""Scenarios and runs held against each other."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from edgefw import terminal
from edgefw.api.run import Run, load_run
from edgefw.errors import InputError
from edgefw.records import seeds_in
from edgefw.reports import document
from edgefw.reports.comparison import Arm, Comparison, Result
from edgefw.reports.contest import Contest, check, play, tuned
from edgefw.scenario.load import Source, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.scenario.model import Scenario

SEEDS = 5  # unless it is said how many


def compare(
    *sources: Source | Run,
    algorithms: Sequence[str] = (),
    seeds: int | None = None,
    tune: bool = False,
    out: str | os.PathLike[str] | None = None,
    regret: bool = True,
    jobs: int | None = None,
) -> Comparison:
    """Compare scenarios, runs, or algorithms on scenarios (the default one if none is given), paired by seed.

    Scenarios are simulated with `seeds` seeds (5), from that of the first on; where runs are given too, with
    theirs. A path of a folder is that of a run, or of the runs of several seeds. With `tune` every scenario
    gets the best rate of one grid. In the folder `out` results are kept as they end and taken up again, and
    tables and figures are written; without it nothing is.
    """
    runs, scenarios = _sorted(sources)
    if algorithms:
        scenarios = _with_algorithms(scenarios or [load("default")], algorithms)
    if seeds is not None and seeds < 1:
        raise InputError(f"seeds is {seeds}: it must be above 0")
    if seeds is not None and runs:
        raise InputError("seeds are those of the runs that are given: leave --seeds out")
    groups = _grouped(runs)
    labels = _labels(
        [(*_names(each[0].scenario), _where(each)) for each in groups]
        + [(*_names(scenario), f"{scenario.name}, simulated") for scenario in scenarios]
    )
    taken = [Arm(label, tuple(map(_result, each))) for label, each in zip(labels, groups, strict=False)]
    named = dict(zip(labels[len(groups) :], scenarios, strict=True))
    if out is not None:
        document.require()
    numbers = _seeds(taken, scenarios, SEEDS if seeds is None else seeds)
    folder, notes, played = None if out is None else Path(out), list[str](), list[Arm]()
    if len(taken) + len(named) < 2:
        Comparison([*taken, *(Arm(label, ()) for label in named)])  # says what is missing
    if named:
        with terminal.status("preparing the comparison"):
            check(named)
        contest = Contest(folder, jobs)
        if tune:
            named, notes = tuned(contest, named, numbers)
        played = play(contest, named, numbers, regret=regret)
    elif tune:
        raise InputError("runs are over: their rates cannot be tuned; give scenarios")
    found = Comparison([*taken, *played], notes)
    if folder is not None:
        with terminal.status("drawing"):
            found.write(folder)
    return found


def _sorted(sources: Sequence[Source | Run]) -> tuple[list[Run], list[Scenario]]:
    """Return the runs and the scenarios among what was given."""
    runs: list[Run] = []
    scenarios: list[Scenario] = []
    for source in sources:
        if isinstance(source, Run):
            runs.append(source)
        elif isinstance(source, str | os.PathLike) and Path(source).is_dir():
            runs += _runs_in(Path(source))
        else:
            scenarios.append(load(source))
    return runs, scenarios


def _runs_in(folder: Path) -> list[Run]:
    """Return the run in a folder, or the runs of several seeds."""
    return [load_run(path) for path in seeds_in(folder) or [folder]]


def _with_algorithms(scenarios: Sequence[Scenario], algorithms: Sequence[str]) -> list[Scenario]:
    return [_with_algorithm(scenario, name) for scenario in scenarios for name in algorithms]


def _with_algorithm(scenario: Scenario, name: str) -> Scenario:
    """Return a scenario with another algorithm: its parameters are those of the one that it names itself."""
    if name == scenario.algorithm.name:
        return scenario
    return load(scenario, {"algorithm.name": name, "algorithm.params": {}})


def _grouped(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs together that differ in their seed alone.

    Runs of the same scenario and seed are held against each other: delays may have been changed in one of
    them while it went on.
    """
    groups: dict[tuple[str, str, int], list[Run]] = defaultdict(list)
    met: Counter[tuple[str, str]] = Counter()
    for run in runs:
        mode, digest = run.summary.mode, run.scenario.digest
        groups[_alike(run), mode, met[digest, mode]].append(run)
        met[digest, mode] += 1
    return list(groups.values())


def _alike(run: Run) -> str:
    """Return what is the same for runs that differ in their seed alone."""
    return load(run.scenario, {"seed": 0}).digest


def _result(run: Run) -> Result:
    summary = run.summary
    return Result(
        seed=summary.seed,
        data=summary.data,
        rounds=summary.rounds,
        total_loss=summary.total_loss,
        worst_loss=max(agent.cumulative_loss for agent in summary.per_agent),
        comparator_loss=summary.comparator_loss,
        comparator_gap=summary.comparator_gap,
        rate=summary.rate,
    )


def _seeds(taken: Sequence[Arm], scenarios: Sequence[Scenario], many: int) -> list[int]:
    if taken:
        return sorted(set.intersection(*({result.seed for result in arm.results} for arm in taken)))
    return [scenarios[0].seed + i for i in range(many)] if scenarios else []


def _names(scenario: Scenario) -> tuple[str, str, str]:
    """Return what a scenario may be called, the shortest first."""
    name, algorithm = scenario.name, scenario.algorithm.name
    return name, algorithm, f"{name}, {algorithm}"


def _where(runs: Sequence[Run]) -> str:
    """Return where runs are that differ in their seed alone: their one folder, or that of the first."""
    first, folders = runs[0].path, {run.path and run.path.parent for run in runs}
    if first is None:
        return f"{runs[0].scenario.name}, in memory"
    return str(first.parent if len(runs) > len(folders) == 1 else first)


def _labels(candidates: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a name for each, of the shortest kind by which all differ; else numbers tell them apart."""
    for kind in zip(*candidates, strict=True):
        if len(set(kind)) == len(kind):
            return list(kind)
    return [f"{names[-1]} ({number})" for number, names in enumerate(candidates, start=1)]
