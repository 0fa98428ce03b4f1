"""`edgefw up` as a user starts it, for the end-to-end tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psutil
from waiting import PATIENCE, until

from edgefw.records import PlayRow, RunFolder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REPORT = "report"  # among a run's options: with a report at its end
SMALL: Mapping[str, object] = {
    "network.agents": 4,
    "data.source": "synthetic",
    "data.samples": 400,
    "data.features": 20,
    "data.classes": 4,
    "delays": "[]",
    "clock": "rounds",
    "pace": "asap",
    "algorithm.horizon": 50,
    "algorithm.stop_after": 10,
}


def _quick(options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options without a report, unless it is asked for: it takes seconds."""
    return tuple(option for option in options if option != REPORT) + (
        () if REPORT in options else ("--no-report",)
    )


class Emulated:
    """A run of the real services; `fields` are those of the scenario that differ from `SMALL`."""

    def __init__(
        self, path: Path, *options: str, scenario: str = "default", fields: Mapping[str, object] | None = None
    ) -> None:
        self.path = path / "run"
        self._out, self._err = path / "out", path / "err"
        self.fields = {**SMALL, **(fields or {})}
        words = [word for key, value in self.fields.items() for word in ("--set", f"{key}={value}")]
        command = [
            sys.executable,
            "-m",
            "edgefw",
            "up",
            scenario,
            *words,
            "--out",
            str(self.path),
            *_quick(options),
        ]
        self._environment = {**os.environ, "XDG_CACHE_HOME": str(path / "cache")}
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, env=self._environment)

    def end(self, seconds: float = 120) -> int:
        """Wait for the end, and return the exit code."""
        return self.process.wait(seconds)

    def run(self, seconds: float = 120) -> None:
        """Wait for the end, which has to be a good one."""
        assert self.end(seconds) == 0, self.err()

    def close(self) -> None:
        """End what a failed test left, in the way that is sure to end it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)

    def edgefw(self, *words: str) -> str:
        """Run another command of edgefw to its good end; return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "edgefw", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def simulated(self) -> dict[str, Any]:
        """Return the summary of the simulator for the run's scenario."""
        document = json.loads(
            self.edgefw(
                "simulate",
                str(self.path / "scenario.yaml"),
                *("--json", "--no-regret", "--out", str(self.path.with_name("simulated"))),
            )
        )
        assert isinstance(document, dict)
        return document

    def summary(self) -> dict[str, Any]:
        """Return the run's own summary."""
        document = json.loads((self.path / "summary.json").read_text())
        assert isinstance(document, dict)
        return document

    def rows(self) -> list[PlayRow]:
        """Return what was recorded."""
        return RunFolder(self.path).rows()

    def log(self, service: str) -> str:
        """Return what a service has logged so far."""
        path = self.path / "logs" / f"{service}.log"
        return path.read_text() if path.exists() else ""

    def out(self) -> str:
        return self._out.read_text()

    def err(self) -> str:
        return self._err.read_text()

    def children(self) -> list[psutil.Process]:
        """Return all processes of the run but the first."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def service(self, name: str) -> psutil.Process:
        """Return the process of a service by its name, such as agent-3."""
        kind, _, number = name.partition("-")
        words = ["-m", "edgefw", kind, *(("--agent", number) if number else ())]
        found = [p for p in self.children() if p.cmdline()[1 : 1 + len(words)] == words]
        assert len(found) == 1, [p.cmdline() for p in self.children()]
        return found[0]

    def started(self) -> None:
        """Wait until the agents play."""
        until(lambda: "running: round" in self.err() or self.process.poll() is not None)
        assert self.process.poll() is None, self.err()

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
