"""How soon a network plays, beside bare processes that import what every service needs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from time import monotonic, time

from edgefw.benchmarks.measure import BenchResult, Progress, UnitCost, in_turn, quiet
from edgefw.benchmarks.setting import BenchNetwork
from edgefw.core.account import Kind
from edgefw.errors import EdgefwError
from edgefw.records import DATABASE
from edgefw.scenario.load import dump

BARE = 10  # processes: those of 8 agents, a broker and an observer
AGENTS = 8
FLOOR, OURS = f"{BARE} bare processes have started", f"edgefw up has played with {AGENTS} agents"
_IMPORTS = "import numpy, grpc.aio, prometheus_client"


def measure(repeats: int, progress: Progress = quiet) -> BenchResult:
    """Measure the floor and ours in turn."""
    measured = in_turn({FLOOR: bare_cost, OURS: ours_cost}, repeats, progress)
    return BenchResult(
        "startup",
        f"from the command to the first play of {AGENTS} agents",
        "start",
        tuple(measured.values()),
        (measured[OURS].beside(measured[FLOOR]),),
        notes=("the processor time of edgefw up is that of a run of one round, to its end",),
    )


def bare_cost() -> UnitCost:
    """Return what it takes until all bare processes have imported numpy, grpc and the metrics library."""
    begin = monotonic()
    started = [_start([sys.executable, "-c", f"{_IMPORTS}; print()"]) for _ in range(BARE)]
    for process in started:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        process.stdout.readline()
    return UnitCost(monotonic() - begin, sum(_ended(process) for process in started))


def ours_cost() -> UnitCost:
    """Return what it takes until the first play; the processor time is that of a run of one round, whole."""
    with tempfile.TemporaryDirectory(prefix="edgefw-bench-") as parent:
        scenario, out = Path(parent, "scenario.yaml"), Path(parent, "run")
        scenario.write_text(dump(BenchNetwork(agents=AGENTS).scenario(1)), encoding="utf-8")
        words = ["up", str(scenario), "--out", str(out), "--headless", "--no-report", "--memory"]
        begin = time()
        used = _ended(_start([sys.executable, "-m", "edgefw", *words]))
        return UnitCost(_first_play(out) - begin, used)


def _first_play(run: Path) -> float:
    """Return when the broker was handed the first play's feedback, in seconds of the time of day."""
    with closing(sqlite3.connect(run / DATABASE)) as database:
        (moment,) = database.execute(
            "SELECT MIN(moment) FROM account WHERE kind = ?", (int(Kind.ACCEPTED),)
        ).fetchone()
    return float(moment) / 1e9


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603


def _ended(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process; return the processor seconds of it and of all that it has waited for."""
    assert process.stderr is not None  # noqa: S101 - it is a pipe
    said = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise EdgefwError(
            f"{process.args!r} ended with exit code {process.returncode}: {said.strip()[-200:]}"
        )
    return usage.ru_utime + usage.ru_stime
