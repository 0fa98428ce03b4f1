"""The report of one run or several: what was run, who was late, what it cost, whether the record is true."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgefw import terminal
from edgefw.delays.words import agents_in_words
from edgefw.experiments.experiment import Row, write_rows
from edgefw.experiments.stats import percent
from edgefw.experiments.tables import Table
from edgefw.reports.document import Document, Event, Fact, Section, Tile, prepare, require
from edgefw.reports.run_figures import histograms, pictures
from edgefw.reports.told import LATE, Told, tell
from edgefw.scenario.load import dump
from edgefw.scenario.pace import warning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from edgefw.records import RunFolder

REPORT = "report.html"
MOST_ROWS = 40  # agents in a table: all are in the CSV file
MOST_EVENTS = 200  # in the list: all are in the CSV file


def write_report(folders: Sequence[RunFolder], out: Path, *, verify: bool) -> Path:
    """Write the report on the runs in some folders, with its figures and CSV files; return its path."""
    require()
    every = [tell(folder, verify=verify) for folder in folders]
    prepare(out)
    with terminal.status("drawing"):
        for number, told in enumerate(every, start=1):
            _write_numbers(told, out, _prefix(number, every))
        return document(every).write(out, REPORT)


def document(every: Sequence[Told]) -> Document:
    """Return the report on some runs."""
    if len(every) == 1:
        (told,) = every
        return Document(_title(told), headline(told), _lead(told), _sections(told, ""))
    sections = [_overview(every)]
    for number, told in enumerate(every, start=1):
        first, *rest = _sections(told, _prefix(number, every))
        sections.append(
            replace(first, title=f"Run {number}: {_title(told)}", words=[headline(told), *_lead(told)])
        )
        sections += [replace(section, title=f"{section.title} (run {number})", level=3) for section in rest]
    return Document(
        f"{len(every)} runs",
        "What late feedback cost, run by run",
        ["Every cost is against the same run, with the same seed, in which nobody is late: simulated."],
        sections,
    )


def headline(told: Told) -> str:
    """Say in a sentence what came of it."""
    if not told.late and told.cost is not None and round(told.cost, 1) == 0:
        return f"Nobody was late{_regret_words(told)}."
    if told.cost is None:
        return f"{_who(told)} late{_regret_words(told)}. What that cost is not known: {told.why_not}."
    cost = f"{abs(told.cost):.1f}"
    if round(told.cost, 1) == 0:
        return (
            f"Late feedback cost nothing in regret against the same run without delays{_regret_words(told)}."
        )
    verb = "cost" if told.cost > 0 else "saved"
    words = f"Late feedback {verb} {cost} in regret against the same run without delays"
    if told.regret is None:
        return f"{words}."
    prompt = told.regret - told.cost
    share = f" ({percent(told.regret, prompt):+.0f} %)" if prompt > 0 else ""
    return f"{words}: {told.regret:.1f} instead of {prompt:.1f}{share}."


def _regret_words(told: Told) -> str:
    return "" if told.regret is None else f": the network's regret is {told.regret:.1f}"


def _title(told: Told) -> str:
    scenario = told.scenario
    agents = f"{scenario.network.agents} agents on a {scenario.network.topology} graph"
    alone = "one learner" if scenario.network.agents == 1 else agents
    return f"{scenario.name}: {scenario.algorithm.name}, {alone}, {told.rounds} rounds"


def _who(told: Told) -> str:
    if not told.late:
        return "Nobody was"
    words = agents_in_words(told.late)
    return f"{words[0].upper()}{words[1:]} {'was' if len(told.late) == 1 else 'were'}"


def _lead(told: Told) -> list[str]:
    """Say who was late, and what has to be known about the run."""
    words = []
    if told.late:
        worst = told.late[0]
        wait = f"{told.waits[worst]:.1f} rounds on average (1 is no delay)"
        words.append(f"{_who(told)} late: a feedback of agent {worst} was on its way for {wait}.")
    if told.rounds < told.scenario.algorithm.rounds:
        words.append(f"The run was cut short: {told.scenario.algorithm.rounds} rounds were planned.")
    summary = told.summary
    if summary is not None and summary.pace_kept is False and summary.pace_asked and summary.pace_reached:
        words.append(f"Warning: {warning(summary.pace_asked, summary.pace_reached)}")
    return words


def _sections(told: Told, prefix: str) -> list[Section]:
    events = _events(told)
    marked = (
        f" Marks: {len(told.story.happenings.events)}, listed below."
        if events
        else " Nothing happened that is marked."
    )
    return [
        Section("In short", tiles=_tiles(told)),
        Section("What was run", facts=_facts(told), code=dump(told.scenario)),
        Section(
            "Who was late, and what it cost",
            words=[_cost_words(told)],
            tables=[_agents_table(told)],
            files=[f"{prefix}agents.csv"],
        ),
        Section(
            "Curves",
            words=[f"Every change of the delay plan and every fault of the network is marked.{marked}"],
            pictures=pictures(told, prefix),
            events=events,
            files=[f"{prefix}curves.csv", *([f"{prefix}events.csv"] if events else [])],
        ),
        Section("How late, how much was awaited", pictures=histograms(told, prefix)),
        Section("Is the record true?", verdicts=[told.verdict]),
    ]


def _tiles(told: Told) -> list[Tile]:
    cost = told.cost
    tone = "" if cost is None or round(cost, 1) == 0 else "bad" if cost > 0 else "good"
    tiles = [Tile("late feedback cost", _number(cost, sign=True), "in network regret", tone)]
    summary = told.summary
    if summary is not None:
        gap = "" if summary.comparator_gap is None else f", up to {summary.comparator_gap:.1f} more"
        tiles.append(Tile("network regret", _number(summary.network_regret), f"a maximum of sums{gap}"))
        tiles.append(Tile("total loss", _number(summary.total_loss), "a sum of maxima: nobody's loss"))
    tiles.append(
        Tile("rounds on the way", f"{told.waits.mean():.2f}", "a feedback, on average; 1 is no delay")
    )
    holds = told.verdict.holds
    return [*tiles, Tile("record", _record(told), "", {True: "good", False: "bad", None: ""}[holds])]


def _record(told: Told) -> str:
    if told.simulated:
        return "simulated"
    return {True: "verified", False: "not true", None: "not verified"}[told.verdict.holds]


def _facts(told: Told) -> list[Fact]:
    scenario, summary = told.scenario, told.summary
    network, algorithm = scenario.network, scenario.algorithm
    mode = "simulated, as arrays" if told.simulated else "emulated, by services"
    facts = [
        Fact("scenario", scenario.name),
        Fact("how", mode),
        Fact("network", f"{network.agents} agents, {network.topology}"),
        Fact("algorithm", f"{algorithm.name}, {algorithm.oracle}"),
        Fact("rounds", f"{told.rounds} of {algorithm.rounds}"),
        Fact("seed", str(scenario.seed)),
        Fact("clock", scenario.clock),
        Fact("folder", str(told.folder.path)),
    ]
    if summary is not None:
        facts += [
            Fact("data", summary.data),
            Fact("rate", f"{summary.rate:.4g}: {summary.rate_reason}"),
            Fact("time", f"{summary.wall_seconds:.1f} s"),
            Fact("never used", f"{summary.unused} feedbacks"),
        ]
    if summary is not None and summary.pace_asked is not None:
        reached = _number(summary.pace_reached, 3)
        facts.append(Fact("pace", f"{summary.pace_asked:g} s asked for, {reached} s reached"))
    return facts


def _cost_words(told: Told) -> str:
    if told.cost is None:
        return f"What lateness cost is not known: {told.why_not}."
    if not told.late:
        return f"No agent's feedback took {LATE:g} rounds or more on average: nobody is called late."
    return (
        "The cost of an agent is its regret, less its regret in the same run (seed, data, network and rate) "
        "in which nobody is late. That run was simulated. The best fixed point of both is the same, so the "
        "cost does not depend on how well it is known."
    )


def _agents_table(told: Told) -> Table:
    rows = _agent_rows(told)
    order = np.argsort(-told.waits, kind="stable")[:MOST_ROWS]
    shown = [
        [
            f"agent {row['agent']}",
            _number(_maybe(row["cost"]), 2, sign=True),
            f"{row['mean_wait']:.2f}",
            _number(_maybe(row["longest_delay"]), 0),
            str(row["never_used"]),
            str(row["longest_queue"]),
            f"{row['cumulative_loss']:.2f}",
            _number(_maybe(row["regret"]), 2),
        ]
        for row in (rows[i] for i in order)
    ]
    left_out = f" {len(rows) - MOST_ROWS} more are in the CSV file." if len(rows) > MOST_ROWS else ""
    return Table(
        "Agents, the latest first",
        ("agent", "cost", "rounds on the way", "longest", "never used", "longest queue", "loss", "regret"),
        shown,
        "Rounds on the way: B_i / T, the mean over rounds; longest: of a feedback that was used; never used: "
        "of rounds before the last; loss: the sum of F_t(x_t^i); cost: what lateness added to the regret."
        + left_out,
    )


def _agent_rows(told: Told) -> list[Row]:
    history, rounds = told.history, told.rounds
    prompt = None if told.prompt is None else told.prompt.sum(axis=0)
    losses = history.loss.sum(axis=0)
    rows: list[Row] = []
    for i, loss in enumerate(losses):
        delays = history.delay[: rounds - 1, i]
        used = delays[np.isfinite(delays)]
        rows.append(
            {
                "agent": i,
                "total_delay": int(history.total_delay[-1, i]),
                "mean_wait": float(told.waits[i]),
                "longest_delay": float(used.max()) if len(used) else None,
                "never_used": len(delays) - len(used),
                "longest_queue": int(history.outstanding[:, i].max()),
                "cumulative_loss": float(loss),
                "regret": None if history.regret is None else float(history.regret[-1, i]),
                "cost": None if prompt is None else float(loss - prompt[i]),
            }
        )
    return rows


def _events(told: Told) -> list[Event]:
    found = list(enumerate(told.story.happenings.events, start=1))
    return [
        Event(
            number,
            f"round {event.round}" + ("" if event.seconds is None else f", {event.seconds:.1f} s"),
            event.text,
            event.kind == "network",
        )
        for number, event in found[:MOST_EVENTS]
    ]


def _overview(every: Sequence[Told]) -> Section:
    rows = [
        [
            f"{number}. {told.scenario.name}",
            str(told.scenario.seed),
            told.scenario.algorithm.name,
            agents_in_words(told.late) if told.late else "nobody",
            f"{told.waits.mean():.2f}",
            _number(None if told.summary is None else told.summary.total_loss),
            _number(told.regret),
            _number(told.cost, sign=True),
            _record(told),
        ]
        for number, told in enumerate(every, start=1)
    ]
    header = (
        "run",
        "seed",
        "algorithm",
        "late",
        "rounds on the way",
        "total loss",
        "network regret",
        "cost",
        "record",
    )
    note = (
        "Total loss is a sum over rounds of the largest loss, network regret the largest of the agents' "
        "sums: one cannot be subtracted from the other. Cost: of late feedback, in network regret."
    )
    return Section("All runs", tables=[Table("Runs", header, rows, note)])


def _write_numbers(told: Told, out: Path, prefix: str) -> None:
    """Write the CSV files of a run."""
    write_rows(out / f"{prefix}agents.csv", _agent_rows(told))
    columns = told.story.columns()
    by_agent = ("loss", "regret", "total_delay", "queue", "delay", "requested", "observed")
    write_rows(
        out / f"{prefix}curves.csv",
        [
            {"round": int(t), "agent": i}
            | {name: _plain(getattr(columns, name)[point, i]) for name in by_agent}
            for point, t in enumerate(columns.rounds)
            for i in range(told.story.n)
        ],
    )
    events = told.story.happenings.events
    if events:
        write_rows(
            out / f"{prefix}events.csv",
            [
                {"number": number, "round": e.round, "seconds": e.seconds, "kind": e.kind, "text": e.text}
                for number, e in enumerate(events, start=1)
            ],
        )


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _prefix(number: int, every: Sequence[Told]) -> str:
    return "" if len(every) == 1 else f"run-{number}-"


def _maybe(value: str | float | None) -> float | None:
    return None if value is None else float(value)


def _number(value: float | None, digits: int = 1, *, sign: bool = False) -> str:
    if value is None:
        return "-"
    return f"{round(value, digits) + 0.0:{'+' if sign else ''}.{digits}f}"
