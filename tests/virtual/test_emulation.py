"""A run on virtual time is the emulator's: exact, the same every time, and verified."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from emulated import SMALL
from together import run_together

import edgefw
from edgefw.cli import main
from edgefw.core.account import Kind
from edgefw.records import DATABASE, LOGS, RunFolder
from edgefw.scenario.load import load
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.core.account import Entry

WALL: dict[str, Any] = {
    **SMALL,
    "clock": "wall",
    "pace": "100ms",
    "algorithm.horizon": 30,
    "algorithm.stop_after": 30,
}
LATE = [
    {"type": "latency", "agents": [1], "latency": "230ms"},
    {"type": "latency", "agents": [2], "latency": "0.2s", "at": "1s", "duration": "500ms"},
    {"type": "blackout", "agents": [0], "at": "500ms", "duration": "700ms"},
]
MS = 10**6  # nanoseconds


def virtual(path: Path, **fields: Any) -> RunFolder:
    edgefw.emulate(load("default", {**WALL, **fields}), out=path, virtual=True)
    return RunFolder(path)


def sha256(folder: RunFolder) -> str:
    return hashlib.sha256((folder.path / DATABASE).read_bytes()).hexdigest()


def hashes(folder: RunFolder) -> dict[tuple[int, int], str | None]:
    return {(row.round, row.agent): row.hash for row in folder.rows()}


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run in which agents 0, 1 and 2 are late, by the wall clock."""
    return virtual(tmp_path_factory.mktemp("virtual") / "run", delays=LATE)


def entries(folder: RunFolder, kind: Kind, agent: int) -> list[Entry]:
    return [entry for entry in folder.account() if entry.kind is kind and entry.agent == agent]


def test_delays_are_kept_to_the_nanosecond_and_the_record_verifies(late: RunFolder) -> None:
    accepted = {entry.round: entry.moment for entry in entries(late, Kind.ACCEPTED, 1)}
    held = [entry.moment - accepted[entry.round] for entry in entries(late, Kind.RELEASED, 1)]
    assert len(held) > 20
    # What happens at one moment is told a nanosecond apart.
    assert all(0 <= each - 230 * MS < 100 for each in held)
    verdict = verify(read(late))
    assert verdict.passed, verdict
    assert verdict.identical == verdict.plays == 4 * 30


def test_a_blackout_begins_and_ends_when_it_says(late: RunFolder) -> None:
    start = min(entry.moment for entry in late.account() if entry.kind is Kind.ACCEPTED)
    released = [entry.moment - start for entry in entries(late, Kind.RELEASED, 0)]
    # What was due just before it begins may be told some nanoseconds later, as above.
    assert not [each for each in released if 500 * MS + 100 <= each < 1200 * MS]
    assert len([each for each in released if 1200 * MS <= each < 1200 * MS + 100]) >= 7


def test_pace_and_time_are_the_scenarios(late: RunFolder) -> None:
    summary = late.summary()
    assert summary is not None
    assert summary.pace_kept
    assert summary.wall_seconds == pytest.approx(29 * 0.1, abs=1e-6)


SCRIPT = """
import json, sys
import edgefw
from edgefw.scenario.load import load
edgefw.emulate(load("default", json.loads(sys.argv[1])), out=sys.argv[2], virtual=True)
"""


def test_the_same_scenario_gives_the_same_bytes_in_any_process(late: RunFolder, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    words = [json.dumps({**WALL, "delays": LATE}), str(tmp_path / "run")]
    subprocess.run([sys.executable, "-c", SCRIPT, *words], env=environment, check=True, capture_output=True)
    assert sha256(RunFolder(tmp_path / "run")) == sha256(late)


def test_another_seed_gives_others(late: RunFolder, tmp_path: Path) -> None:
    other = virtual(tmp_path / "run", delays=LATE, seed=8)
    assert sha256(other) != sha256(late)
    assert verify(read(other)).passed


def test_by_the_rounds_clock_plays_are_those_of_real_time(tmp_path: Path) -> None:
    fields = {"clock": "rounds", "pace": "asap", "algorithm.stop_after": 12}
    delays = [{"type": "rounds", "agents": [1], "rounds": 4}]
    there = virtual(tmp_path / "virtual", delays=delays, **fields)
    here = run_together(
        tmp_path / "real", fields={"algorithm.horizon": 30, "delays": json.dumps(delays), **fields}
    )
    assert hashes(there) == hashes(here)
    assert len(hashes(there)) == 4 * 12


def test_every_service_has_its_log_with_virtual_times(late: RunFolder) -> None:
    logs = {path.stem: path.read_text(encoding="utf-8") for path in (late.path / LOGS).iterdir()}
    assert set(logs) == {"observer", "broker", "agent-0", "agent-1", "agent-2", "agent-3"}
    last = logs["agent-3"].splitlines()[-1]
    assert last.startswith("00:00:0")
    assert "agent-3 INFO played all 30 rounds" in last
    assert "listening on" in logs["observer"]


def test_the_command_says_what_it_has_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for key, value in {**WALL, "delays": "[]"}.items() for word in ("--set", f"{key}={value}")]
    command = ["up", "default", "--virtual", "--no-report", *words, "--out", str(tmp_path / "run")]
    assert main(command) == 0
    assert "written to" in capsys.readouterr().out.replace("\n", " ")
    assert main(["verify", str(tmp_path / "run")]) == 0
    for option in (["--stay"], ["--memory"], ["--admin-port", "7171"]):
        assert main(["up", "default", "--virtual", *option]) == 2
        said = capsys.readouterr().err
        assert said == (
            f"edgefw: {option[0]} is for services that others can reach: leave it out with --virtual\n"
        )
