"""The broker's intake beside its floors, and how exact its delivery is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from edgefw.benchmarks import broker
from edgefw.benchmarks.broker_floor import append_cost, echo_cost
from edgefw.benchmarks.measure import BenchResult, Progress, UnitCost, in_turn, quiet

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 10.0  # of each measurement
APPEND, ECHO, OURS = "bytes appended, an fsync for all under way", "bare streams, an echo", "durable intake"


def measure(folder: Path, repeats: int, progress: Progress = quiet) -> BenchResult:
    """Measure intake and its floors in turn, then lateness with and without admin calls."""
    folder.mkdir(parents=True, exist_ok=True)
    measured = in_turn(
        {
            APPEND: partial(append_cost, folder, SECONDS),
            ECHO: partial(echo_cost, SECONDS),
            OURS: partial(_intake, folder),
        },
        repeats,
        progress,
    )
    figures, notes = _exactness(folder, repeats, progress)
    ours = measured[OURS]
    return BenchResult(
        "broker",
        f"a feedback of 9 kB, {broker.IN_FLIGHT} under way; processor: the broker's or the server's alone",
        "feedback",
        tuple(measured.values()),
        (ours.beside(measured[APPEND]), ours.beside(measured[ECHO])),
        {"intake_per_second": 1 / ours.wall.middle, **figures},
        (
            f"durable intake: {1 / ours.wall.middle:.0f} a second (SQLite, synchronous FULL, in {folder})",
            *notes,
        ),
    )


def _intake(folder: Path) -> UnitCost:
    taken = broker.intake(folder, seconds=SECONDS)
    return UnitCost(1 / taken.per_second, taken.cpu)


def _exactness(folder: Path, repeats: int, progress: Progress) -> tuple[dict[str, float], list[str]]:
    """Return how late feedback comes, and how soon a change of the plan acts."""
    figures: dict[str, float] = {}
    notes = [
        f"lateness at the receiver, {broker.RATE} a second over {broker.AGENTS} links, {broker.PENDING} held"
    ]
    for position, (name, admin_calls) in enumerate((("quiet", False), ("admin", True))):
        runs = []
        for turn in range(repeats):
            runs.append(broker.lateness(folder, seconds=SECONDS, admin_calls=admin_calls))
            progress(position * repeats + turn + 1, 2 * repeats)
        middle = broker.median(runs)
        early = sum(run.early for run in runs)
        for quantity, value in (("p50", middle.p50), ("p99", middle.p99), ("worst", middle.worst)):
            figures[f"lateness_{name}_{quantity}_seconds"] = value
        figures |= {f"early_{name}": early, f"lateness_{name}_cores": middle.cpu}
        calls = f"{middle.admin_calls / SECONDS:.0f} admin calls/s" if admin_calls else "no admin calls"
        notes.append(
            f"  {calls}: {middle.p50 * 1e3:.2f} ms (median), {middle.p99 * 1e3:.2f} ms (99 %), "
            f"{middle.worst * 1e3:.1f} ms (worst); {early} early; {middle.cpu:.2f} cores of the broker"
        )
    effects = broker.effect(folder)
    figures["plan_change_p50_seconds"] = effects[len(effects) // 2]
    notes.append(
        f"a change of the plan acts {effects[len(effects) // 2] * 1e3:.1f} ms after its answer "
        f"(median of {len(effects)}; below 0: before it), {effects[-1] * 1e3:.1f} ms at most"
    )
    return figures, notes
