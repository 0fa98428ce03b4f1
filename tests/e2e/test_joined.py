"""Services that are started one by one and find each other through the observer, as containers do."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING, Any, Self

import pytest
import tracebacks
from waiting import PATIENCE, until

from edgefw.local.ports import loopback_places
from edgefw.local.scrape import parse
from edgefw.scenario.load import dump, validate

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.services.config import Place

pytestmark = pytest.mark.timeout(300)  # a network of processes takes its time, on a busy machine
AGENTS, ROUNDS = 3, 120  # so many that there is time to trouble them
SCENARIO: dict[str, Any] = {
    "name": "joined",
    "network": {"agents": AGENTS, "topology": "complete"},
    "data": {"source": "synthetic", "samples": 200, "features": 20, "classes": 4},
    "clock": "wall",
    "pace": "50ms",
    "algorithm": {"horizon": 200, "stop_after": ROUNDS, "sub_iterations": 3},
    "delays": [{"type": "latency", "latency": "100ms"}],
}


class Joined:
    """Processes of one network; each logs into a file of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.runs, self.journal = path / "runs", path / "journal.sqlite"
        self._ports = loopback_places(AGENTS)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(path / "cache"),
            "EDGEFW_SCENARIO": dump(validate(SCENARIO, source="test")),
            "OPENBLAS_NUM_THREADS": "1",
        }

    def __enter__(self) -> Self:
        self.places = self._ports.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running.values():
            process.kill()
            process.wait(PATIENCE)
        self._ports.__exit__(None, None, None)

    def start(self, name: str) -> None:
        place, *words = self._command(name)
        where = ("--listen", place.address, "--metrics-port", str(place.metrics_port))
        command = [sys.executable, "-m", "edgefw", *words, *where]
        with (self._path / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=self._environment
            )

    def _command(self, name: str) -> tuple[Place, *tuple[str, ...]]:
        join = ("--join", self.places.observer.address)
        if name == "observer":
            return self.places.observer, "observer", "--runs", str(self.runs)
        if name == "broker":
            return self.places.broker, "broker", *join, "--journal", str(self.journal)
        agent = name.removeprefix("agent-")
        return self.places.agents[int(agent)], "agent", *join, "--agent", agent

    def kill(self, name: str) -> None:
        self.running[name].send_signal(signal.SIGKILL)
        self.running[name].wait(PATIENCE)

    def log(self, name: str) -> str:
        return (self._path / f"{name}.log").read_text()

    def ask(self, name: str, path: str) -> bytes:
        """Return what a service answers over HTTP, well or not; nothing while it does not."""
        place, *_ = self._command(name)
        try:
            with urllib.request.urlopen(f"http://{place.host}:{place.metrics_port}{path}") as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return bytes(refused.read())
        except OSError:
            return b""

    def round(self) -> int:
        """Return the last round that the observer has scored, 0 while it does not answer."""
        samples = parse(self.ask("observer", "/metrics").decode(), {"edgefw_network_round"})
        return int(sum(sample.value for sample in samples))

    def named(self) -> list[str]:
        """Return whom the last line of the observer names that says for whom a round waits."""
        lines = [line for line in self.log("observer").splitlines() if " waits for " in line]
        return re.findall(r"(agent \d+|the broker) \(", lines[-1]) if lines else []

    def folders(self) -> list[Path]:
        return sorted(self.runs.iterdir()) if self.runs.exists() else []

    def owner(self) -> str:
        """Return the run that the broker's journal is of, once nobody uses it."""
        with closing(sqlite3.connect(self.journal)) as database:
            (found,) = database.execute("SELECT value FROM meta WHERE key = 'run_id'").fetchone()
        return str(found)

    def finish(self) -> None:
        """Wait for the good end of all that end, and stop the broker."""
        for name, process in self.running.items():
            if name != "broker":
                assert process.wait(PATIENCE) == 0, self.log(name)
        self.running["broker"].send_signal(signal.SIGTERM)
        assert self.running["broker"].wait(PATIENCE) == 0, self.log("broker")


@pytest.fixture
def joined(tmp_path: Path) -> Any:
    with Joined(tmp_path) as network:
        yield network


def verified(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "edgefw", "verify", str(path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.thorough  # in one process: tests/services/observer/test_joining.py
def test_services_that_start_in_any_order_find_each_other_and_go_on_after_trouble(joined: Joined) -> None:
    """An agent that stands still is named and the run goes on with it; so it does with a killed broker."""
    for name in ("agent-1", "broker", "agent-0", "observer", "agent-2"):
        joined.start(name)
    until(lambda: joined.round() > 5)
    joined.running["agent-2"].send_signal(signal.SIGSTOP)
    until(lambda: joined.named() == ["agent 2"], "the observer names who stands still")
    joined.running["agent-2"].send_signal(signal.SIGCONT)
    stood = joined.round()
    until(lambda: joined.round() > stood)
    joined.kill("broker")
    joined.start("broker")
    joined.finish()
    (folder,) = joined.folders()
    assert json.loads((folder / "summary.json").read_text())["rounds"] == ROUNDS
    assert f"{AGENTS * ROUNDS} of {AGENTS * ROUNDS} plays are identical" in verified(folder)
    assert joined.owner().endswith(f"/{folder.name}")
    assert not [joined.log(name) for name in joined.running if tracebacks.of_the_package(joined.log(name))]


@pytest.mark.parametrize("name", ["agent-0", "broker"])
def test_who_waits_to_join_answers_that_it_is_not_ready(joined: Joined, name: str) -> None:
    """Else whoever watches takes those that wait for the one that is missing for down."""
    joined.start(name)
    until(lambda: b"edgefw_build_info" in joined.ask(name, "/metrics"))
    assert joined.ask(name, "/healthz") == b"not ready\n"


@pytest.mark.thorough  # likewise
def test_an_agent_that_has_lost_the_run_starts_it_anew_for_all_and_the_broker_follows(
    joined: Joined,
) -> None:
    for name in ("observer", "broker", *(f"agent-{i}" for i in range(AGENTS))):
        joined.start(name)
    until(lambda: joined.round() > 5)
    (first,) = joined.folders()
    joined.kill("agent-1")
    until(lambda: joined.named() == ["agent 1"], "the observer names who is gone")
    joined.start("agent-1")
    until(lambda: len(joined.folders()) == 2)
    joined.finish()
    second = joined.folders()[1]
    assert 5 < json.loads((first / "summary.json").read_text())["rounds"] < ROUNDS
    assert json.loads((second / "summary.json").read_text())["rounds"] == ROUNDS
    assert f"{AGENTS * ROUNDS} of {AGENTS * ROUNDS} plays are identical" in verified(second)
    assert joined.owner().endswith(f"/{second.name}")
    assert "agent 1 has lost the run: everyone starts anew" in joined.log("observer")
    assert "removing the journal of run" in joined.log("broker")
    assert "joining the next run" in joined.log("agent-0")
    assert not [joined.log(name) for name in joined.running if tracebacks.of_the_package(joined.log(name))]
