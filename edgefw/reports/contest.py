"""Scenarios simulated to be compared: every seed's result is kept as it ends, and found again later."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.best import problem_key
from edgefw.core.regret import cumulative_loss, total_loss
from edgefw.errors import InputError
from edgefw.experiments import runner
from edgefw.experiments.centralized import RATES
from edgefw.reports.comparison import Arm, Result
from edgefw.scenario.data import Data
from edgefw.scenario.extensions import origins_to_json
from edgefw.scenario.load import load
from edgefw.scenario.plan import check_simulable, never_met, not_simulated
from edgefw.scenario.setup import load_data, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from edgefw.problem.dataset import Dataset
    from edgefw.scenario.model import Scenario

TUNED_ON = 3  # seeds at most, on which rates are tuned: none of those that are compared
KEPT = "runs"  # the folder of results, inside that of the comparison


@dataclass(frozen=True)
class Kept:
    """A result on disk, and what it depends on beside its scenario."""

    result: Result
    data_digest: str
    made_by: str

    @classmethod
    def read(cls, path: Path) -> Kept | None:
        """Return what was kept; None where nothing was, or nothing whole."""
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return cls(Result(**fields.pop("result")), **fields)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # it will be run again

    def write(self, path: Path) -> None:
        """Keep it, whole or not at all."""
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        partial.replace(path)


class Contest:
    """Simulates scenarios once, however often they are asked for; `folder` keeps results (None: nowhere)."""

    def __init__(self, folder: Path | None, jobs: int | None) -> None:
        self._folder, self._jobs = (None if folder is None else folder / KEPT), jobs
        self._found: dict[str, Result] = {}  # by the scenario's digest
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"cannot write to {folder}: {error.strerror}; give another --out") from None

    def run(self, scenarios: Iterable[Scenario], title: str) -> None:
        """Simulate those that have not been simulated; each result is kept when it is there."""
        wanted = {scenario.digest: scenario for scenario in scenarios if scenario.digest not in self._found}
        by_seed = sorted(wanted.values(), key=lambda scenario: scenario.seed)  # they share their data
        missing = [scenario for scenario in by_seed if not self._take_up(scenario)]
        rounds = sum(scenario.algorithm.rounds for scenario in missing)
        with terminal.progress_bar(title, rounds) as progress:
            for _, outcome in runner.as_they_end(missing, progress, self._jobs):
                self._keep(outcome)

    def result(self, scenario: Scenario) -> Result:
        """Return what a scenario came to."""
        return self._found[scenario.digest]

    def _take_up(self, scenario: Scenario) -> bool:
        kept = None if self._folder is None else Kept.read(self._folder / f"{scenario.digest}.json")
        if kept is None or (kept.data_digest, kept.made_by) != (_data(scenario)[1], made_by(scenario)):
            return False
        self._found[scenario.digest] = kept.result
        return True

    def _keep(self, outcome: runner.Outcome) -> None:
        scenario, losses = outcome.scenario, outcome.trace.global_loss
        dataset, digest = _data(scenario)
        result = Result(
            seed=scenario.seed,
            data=dataset.name,
            rounds=scenario.algorithm.rounds,
            total_loss=total_loss(losses),
            worst_loss=float(cumulative_loss(losses).max()),
            comparator_loss=None,
            comparator_gap=None,
            rate=resolve(scenario, dataset).rate.value,
        )
        self._found[scenario.digest] = result
        if self._folder is not None:
            Kept(result, digest, made_by(scenario)).write(self._folder / f"{scenario.digest}.json")


def made_by(scenario: Scenario) -> str:
    """Return whose numbers these are: the versions of all that a result comes from."""
    own = f"edgefw {version('edgefw')}, numpy {np.__version__}"
    return f"{own}, {origins_to_json(scenario)}"


def _data(scenario: Scenario) -> tuple[Dataset, str]:
    """Return what a scenario learns from and its digest; runs that come together share it."""
    return _loaded(scenario.data.model_dump_json(), scenario.seed)


@lru_cache(maxsize=2)
def _loaded(data: str, seed: int) -> tuple[Dataset, str]:
    found = load_data(Data.model_validate_json(data), seed)
    return found, found.digest


def check(scenarios: Mapping[str, Scenario]) -> None:
    """Say what is wrong with a scenario before any is run."""
    for label, scenario in scenarios.items():
        check_simulable(scenario)
        resolve(scenario, _data(scenario)[0])
        noted = [*never_met(scenario), *not_simulated(scenario)]
        terminal.warn(f"{label}: {said}" for said in noted)


def tuned(
    contest: Contest, scenarios: Mapping[str, Scenario], seeds: Sequence[int]
) -> tuple[dict[str, Scenario], list[str]]:
    """Return each scenario at its best rate of one grid, the same for all, and what to say about it.

    Best is by the mean total loss over the seeds after those that are compared: a rate that is chosen by the
    runs it is judged by looks better than it is.
    """
    others = [max(seeds) + 1 + i for i in range(min(len(seeds), TUNED_ON))]
    trials = {
        (label, rate): [at(scenario, seed, rate) for seed in others]
        for label, scenario in scenarios.items()
        for rate in RATES
    }
    contest.run((scenario for each in trials.values() for scenario in each), "tuning rates")
    losses = {
        trial: float(np.mean([contest.result(scenario).total_loss for scenario in each]))
        for trial, each in trials.items()
    }
    best = {label: min(RATES, key=lambda rate: losses[label, rate]) for label in scenarios}
    edges = [label for label, rate in best.items() if rate in {RATES[0], RATES[-1]}]
    grid = f"{len(RATES)} from {RATES[0]:g} to {RATES[-1]:g}"
    by = f"the mean total loss over seeds {others[0]} to {others[-1]}, which are not among those compared"
    said = [f"Rates are tuned: the best of {grid}, the same for all, by {by}."]
    if edges:
        said.append(
            f"The best rate is at the edge of the grid, a better one may lie beyond: {', '.join(edges)}."
        )
    return {label: at(scenario, scenario.seed, best[label]) for label, scenario in scenarios.items()}, said


def at(scenario: Scenario, seed: int, rate: float | None = None) -> Scenario:
    """Return a scenario with a seed and, if one is given, a rate."""
    return load(scenario, {"seed": seed} | ({} if rate is None else {"algorithm.rate": rate}))


def play(
    contest: Contest, scenarios: Mapping[str, Scenario], seeds: Sequence[int], *, regret: bool
) -> list[Arm]:
    """Simulate every scenario with every seed; with `regret`, look for the best fixed points."""
    wanted = {label: [at(scenario, seed) for seed in seeds] for label, scenario in scenarios.items()}
    contest.run((scenario for each in wanted.values() for scenario in each), "comparing")
    arms = {label: [contest.result(scenario) for scenario in each] for label, each in wanted.items()}
    if regret:
        arms = _certified(wanted, arms)
    return [Arm(label, tuple(results)) for label, results in arms.items()]


def _certified(
    wanted: Mapping[str, Sequence[Scenario]], arms: Mapping[str, Sequence[Result]]
) -> dict[str, list[Result]]:
    """Return the results with the best fixed point of each: runs of the same problem share one.

    It is certified for the run with the least regret, and so for all. Were each certified by itself, a
    difference of regrets would also be one of certificates.
    """
    problems: dict[str, list[tuple[str, int]]] = defaultdict(list)
    of_problem: dict[str, Scenario] = {}
    places = [(label, i) for label, each in wanted.items() for i in range(len(each))]
    for label, i in sorted(places, key=lambda place: place[1]):
        scenario = wanted[label][i]
        setup = resolve(scenario, _data(scenario)[0])
        key = problem_key(setup)
        problems[key].append((label, i))
        of_problem.setdefault(key, scenario)
    found = {label: list(results) for label, results in arms.items()}
    with terminal.progress_bar("looking for best fixed points", len(problems), "problems") as progress:
        for done, (key, sharing) in enumerate(problems.items(), start=1):
            scenario = of_problem[key]
            least = min(arms[label][i].worst_loss for label, i in sharing)
            setup = resolve(scenario, _data(scenario)[0])
            best = runner.best_point_for(setup, least).comparator
            for label, i in sharing:
                result = found[label][i]
                found[label][i] = replace(result, comparator_loss=best.value, comparator_gap=best.gap)
            progress(done)
    return found
