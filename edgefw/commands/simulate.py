"""`edgefw simulate`: run a scenario in the simulator, write the run folder, show the summary."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.commands import summary_view
from edgefw.experiments import runner
from edgefw.records import RunFolder, Summary, unused
from edgefw.scenario.checks import check_simulable
from edgefw.scenario.load import dump, load
from edgefw.scenario.setup import Setup, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from edgefw.scenario.model import Scenario


def run(
    name: str,
    overrides: Sequence[str],
    *,
    seeds: int,
    out: str | None,
    as_json: bool,
    with_regret: bool,
    jobs: int | None,
) -> None:
    """Simulate `seeds` runs of a scenario, the scenario's seed and the ones after it."""
    first = load(name, overrides)
    check_simulable(first)
    setup = resolve(first)  # whatever is wrong with it is said now, once, and before a folder is made
    scenarios = [load(name, [*overrides, f"seed={first.seed + i}"]) for i in range(seeds)]
    with _folders(scenarios, out) as folders:
        outcomes = _simulate(scenarios, setup, jobs)
        summaries = [
            _finish(
                folder, outcome, setup if seeds == 1 else resolve(outcome.scenario), with_regret=with_regret
            )
            for folder, outcome in zip(folders, outcomes, strict=True)
        ]
    if as_json:
        print(_as_json(summaries))  # noqa: T201 - not through rich, which would wrap it
    else:
        folder = folders[0].path if seeds == 1 else folders[0].path.parent
        summary_view.show(summaries, folder)


def _simulate(scenarios: Sequence[Scenario], first: Setup, jobs: int | None) -> list[runner.Outcome]:
    rounds = first.rounds * len(scenarios)
    with terminal.progress_bar(f"simulating {first.scenario.name}", rounds) as progress:
        if len(scenarios) == 1:
            return [runner.run(first, progress)]
        return runner.run_all(scenarios, progress, jobs)


def _finish(folder: RunFolder, outcome: runner.Outcome, setup: Setup, *, with_regret: bool) -> Summary:
    """Find the comparator, write the folder, return the summary."""
    found = None
    if with_regret:
        with terminal.status("looking for the best fixed point:") as say:
            found = runner.comparator(setup, outcome, lambda c: say(f"loss {c.value:.2f}, gap {c.gap:.2f}"))
    summary = runner.summarise(setup, outcome, found)
    folder.write_rows(runner.rows(setup, outcome), {**setup.meta(summary.mode), "numpy": np.__version__})
    folder.write_summary(summary)
    return summary


@contextmanager
def _folders(scenarios: Sequence[Scenario], out: str | None) -> Iterator[list[RunFolder]]:
    """Make a folder for every run; where the runs come to nothing, so do the folders."""
    base = Path(out) if out else unused(Path("runs"), scenarios[0].name)
    folders: list[RunFolder] = []
    try:
        for scenario in scenarios:
            path = base if len(scenarios) == 1 else base / f"seed-{scenario.seed}"
            folders.append(RunFolder.create(path, dump(scenario)))
        yield folders
    except BaseException:
        for folder in reversed(folders):
            folder.discard()
        if out is None:
            with suppress(OSError):  # a seed that was finished stays in it
                base.rmdir()
        raise


def _as_json(summaries: Sequence[Summary]) -> str:
    documents = [asdict(summary) for summary in summaries]
    return json.dumps(documents[0] if len(documents) == 1 else documents, indent=2)
