"""`edgefw simulate`: run a scenario in the simulator, write the run folder, show the summary."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.experiments import runner
from edgefw.records import RunFolder, Summary
from edgefw.scenario.load import dump, load
from edgefw.scenario.setup import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    scenario = load(name, overrides)
    scenarios = [scenario.model_copy(update={"seed": scenario.seed + i}) for i in range(seeds)]
    resolve(scenario)  # whatever is wrong with it is said now, once, and before a folder is made
    folders = [
        RunFolder.create(path, dump(s))
        for path, s in zip(_paths(scenario, seeds, out), scenarios, strict=True)
    ]
    rounds = scenario.algorithm.rounds * seeds
    with terminal.progress_bar(f"simulating {scenario.name}", rounds) as progress:
        outcomes = runner.run_all(scenarios, progress, jobs)
    summaries = [
        _finish(folder, outcome, with_regret=with_regret)
        for folder, outcome in zip(folders, outcomes, strict=True)
    ]
    if as_json:
        print(_as_json(summaries))  # noqa: T201 - not through rich, which would wrap it
    else:
        _show(summaries, folders)


def _finish(folder: RunFolder, outcome: runner.Outcome, *, with_regret: bool) -> Summary:
    """Find the comparator, write the folder, return the summary."""
    setup = resolve(outcome.scenario)
    found = None
    if with_regret:
        with terminal.status("looking for the best fixed point:") as say:
            found = runner.comparator(setup, outcome, lambda c: say(f"loss {c.value:.2f}, gap {c.gap:.2f}"))
    summary = runner.summarise(setup, outcome, found)
    meta = {"digest": summary.digest, "mode": summary.mode, "numpy": np.__version__}
    folder.write_rows(runner.rows(setup, outcome), meta)
    folder.write_summary(summary)
    return summary


def _paths(scenario: Scenario, seeds: int, out: str | None) -> list[Path]:
    base = Path(out) if out else Path("runs") / f"{scenario.name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    return [base] if seeds == 1 else [base / f"seed-{scenario.seed + i}" for i in range(seeds)]


def _as_json(summaries: Sequence[Summary]) -> str:
    documents = [asdict(summary) for summary in summaries]
    return json.dumps(documents[0] if len(documents) == 1 else documents, indent=2)


def _show(summaries: Sequence[Summary], folders: Sequence[RunFolder]) -> None:
    first = summaries[0]
    terminal.table(
        f"{first.name}: {first.algorithm}, {first.agents} agents, {first.rounds} rounds of {first.data}",
        ["seed", "total loss", "network regret", "best fixed point", "B", "B / rounds", "pending", "seconds"],
        [_row(summary) for summary in summaries],
    )
    if len(summaries) == 1:
        terminal.table(
            "agents",
            ["agent", "cumulative loss", "regret", "total delay"],
            [
                [str(a.agent), f"{a.cumulative_loss:.2f}", _number(a.regret), str(a.total_delay)]
                for a in first.per_agent
            ],
        )
    else:
        losses = [summary.total_loss for summary in summaries]
        terminal.out.print(
            f"total loss {np.mean(losses):.2f} +- {np.std(losses, ddof=1):.2f} over {len(losses)} seeds"
        )
    terminal.out.print(f"written to {folders[0].path if len(folders) == 1 else folders[0].path.parent}")


def _row(summary: Summary) -> list[str]:
    regret = _number(summary.network_regret)
    if summary.comparator_gap is not None:
        regret += f" (+{summary.comparator_gap:.2f})"
    return [
        str(summary.seed),
        f"{summary.total_loss:.2f}",
        regret,
        _number(summary.comparator_loss),
        f"{summary.total_delay:.0f}",
        f"{summary.total_delay / summary.rounds:.2f}",
        str(summary.pending),
        f"{summary.wall_seconds:.1f}",
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
