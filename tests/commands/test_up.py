"""`edgefw up` with stand-ins for its services, so that they can be made to fail; the real ones: tests/e2e."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from functools import partial
from pathlib import Path

import pytest
from living import alive
from waiting import PATIENCE, until

from edgefw.local.emulation import delay_hint, prepared
from edgefw.local.ports import Places
from edgefw.records import AgentSummary, Summary
from edgefw.scenario.load import load
from edgefw.services.config import Place

STAND_IN = Path(__file__).parents[1] / "support" / "stand_in.py"
SUMMARY = Summary(
    name="small",
    digest="d",
    mode="up",
    algorithm="de2mfw",
    seed=7,
    data="synthetic",
    agents=2,
    rate=0.5,
    rate_reason="given as algorithm.rate",
    rounds=5,
    total_loss=12.34,
    network_regret=None,
    comparator_loss=None,
    comparator_gap=None,
    total_delay=5.0,
    unused=0,
    messages=10,
    bytes=100,
    wire_bytes=50,
    wall_seconds=1.0,
    pace_asked=0.25,
    pace_reached=0.25,
    pace_kept=True,
    missed_ticks=0,
    per_agent=(AgentSummary(0, 12.34, None, 5), AgentSummary(1, 11.0, None, 5)),
)
DRIVER = """
import sys
from edgefw import cli
from edgefw.local import emulation
from edgefw.local.processes import Processes
from edgefw.local.child import Command

TRAITS = {traits!r}

def stand_in(name, place, stay, lasting=False):
    arguments = (sys.executable, {stand_in!r}, name, place.address, {diary!r}, *TRAITS.get(name, ()))
    return Command(name, arguments, place.address, lasting or stay)

def processes(path, places, *, stay, memory):
    agents = tuple(stand_in(f"agent-{{i}}", place, stay) for i, place in enumerate(places.agents))
    broker = stand_in("broker", places.broker, stay, lasting=True)
    return Processes(stand_in("observer", places.observer, stay), broker, agents)

emulation.processes = processes
emulation.READY_SECONDS = 600.0  # what is asked here is not how fast this machine is
sys.exit(cli.main({arguments!r}))
"""


class Up:
    """`edgefw up` in a process of its own."""

    def __init__(self, path: Path) -> None:
        self.path, self.diary = path, path / "diary"
        (path / "ready.json").write_text(SUMMARY.to_json())
        self._process: subprocess.Popen[bytes] | None = None
        self._shown: int | None = None

    def start(self, traits: dict[str, tuple[str, ...]], *options: str, terminal: bool = False) -> None:
        summary = f"summary={self.path / 'ready.json'}"
        traits = {**traits, "observer": (*traits.get("observer", ()), summary)}
        fields = (
            "network.agents=2",
            "data.source=synthetic",
            "data.samples=40",
            "data.features=20",
            "data.classes=4",
            "delays=[]",
            "algorithm.stop_after=5",
        )
        sets = [word for field in fields for word in ("--set", field)]
        arguments = ["up", "default", *sets, "--out", str(self.path / "run"), *options]
        script = self.path / "driver.py"
        script.write_text(
            DRIVER.format(traits=traits, stand_in=str(STAND_IN), diary=str(self.diary), arguments=arguments)
        )
        self._shown, shown = pty.openpty() if terminal else (None, None)
        with (self.path / "out").open("wb") as out, (self.path / "err").open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, str(script)],
                stdout=out,
                stderr=err if shown is None else shown,
                preexec_fn=None if shown is None else partial(_be_in_front, shown),  # noqa: PLW1509
            )
        if shown is not None:
            os.close(shown)

    def press(self, key: bytes) -> None:
        """Press a key at the terminal."""
        assert self._shown is not None
        os.write(self._shown, key)

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def end(self) -> int:
        """Wait for the end; nothing of it may be left."""
        assert self._process is not None
        code = self._process.wait(PATIENCE)
        until(lambda: not self.left())
        return code

    def left(self) -> list[int]:
        pids = [int(line.split()[2]) for line in self.lines("up")]
        return alive(pids)

    def lines(self, event: str) -> list[str]:
        lines = self.diary.read_text().splitlines() if self.diary.exists() else []
        return [line for line in lines if line.startswith(f"{event} ")]

    def names(self, event: str) -> list[str]:
        return [line.split()[1] for line in self.lines(event)]

    def out(self) -> str:
        return (self.path / "out").read_text()

    def err(self) -> str:
        return (self.path / "err").read_text()

    def read_terminal(self) -> str:
        """Return what the terminal showed until its other side was closed."""
        assert self._shown is not None
        shown = b""
        try:
            while part := os.read(self._shown, 65_536):
                shown += part
        except OSError:  # Linux says EIO where others say end of file
            pass
        os.close(self._shown)
        return shown.decode()


def _be_in_front(terminal: int) -> None:
    """Make this process the one that a terminal's keys are for."""
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


@pytest.fixture
def up(tmp_path: Path) -> Up:
    return Up(tmp_path)


def test_a_run_ends_with_its_summary(up: Up) -> None:
    up.start({"agent-0": ("ends",), "agent-1": ("ends",), "observer": ("ends",)})
    assert up.end() == 0
    assert "12.34" in up.out()
    assert f"written to {up.path / 'run'}" in re.sub(r"\s+", " ", up.out())
    assert up.names("down")[-1] == "broker"
    assert "round 0/5" in up.err()
    assert {log.name for log in (up.path / "run" / "logs").iterdir()} == {
        "agent-0.log",
        "agent-1.log",
        "broker.log",
        "observer.log",
    }


def test_a_dead_service_is_named_and_the_rest_is_stopped(up: Up) -> None:
    up.start({"agent-1": ("after=agent-0", "dies")})
    assert up.end() == 1
    assert "edgefw: agent-1 ended with exit code 3" in up.err()
    assert "went very wrong" in up.err()
    assert "Traceback" not in up.err()
    assert up.names("down") == ["agent-0", "broker", "observer"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_stops_in_order_and_has_its_summary(up: Up, number: signal.Signals) -> None:
    up.start({})
    until(lambda: len(up.names("up")) == 4)
    up.signal(number)
    assert up.end() == 130
    assert up.names("down")[2:] == ["broker", "observer"]
    assert json.loads((up.path / "run" / "summary.json").read_text())["total_loss"] == 12.34
    assert "12.34" in up.out()
    assert f"edgefw report {up.path / 'run'}" in up.out()  # it can still be had
    assert up.err().endswith("edgefw: interrupted\n")


def test_an_interrupt_while_services_start_leaves_nothing(up: Up) -> None:
    up.start({"observer": ("never-ready",)})
    until(lambda: "observer" in up.names("up"))
    up.signal(signal.SIGINT)
    assert up.end() == 130
    assert "agent-0" not in up.names("up")


def test_ctrl_c_at_the_terminal_is_for_the_parent_alone(up: Up) -> None:
    up.start({}, terminal=True)
    until(lambda: len(up.names("up")) == 4)
    up.press(b"\x03")
    shown = up.read_terminal()
    assert up.end() == 130
    assert "stopping all services" in shown
    assert up.names("down")[2:] == ["broker", "observer"]  # SIGINT would have ended them in any order
    logs = [path.read_text() for path in (up.path / "run" / "logs").iterdir()]
    assert all("stopping: SIGTERM" in log and "SIGINT" not in log for log in logs)


def test_an_interrupt_does_not_hide_what_failed_before(up: Up) -> None:
    up.start({"agent-0": ("stubborn",), "agent-1": ("after=agent-0", "dies")})
    until(lambda: up.names("ignored"))
    up.signal(signal.SIGINT)
    assert up.end() == 1
    assert "edgefw: agent-1 ended with exit code 3" in up.err()


def test_a_second_interrupt_does_not_wait_for_anyone(up: Up) -> None:
    up.start({"agent-0": ("stubborn",)})
    until(lambda: len(up.names("up")) == 4)
    up.signal(signal.SIGINT)
    until(lambda: up.names("ignored"))
    up.signal(signal.SIGINT)
    assert up.end() == 130
    assert "observer" not in up.names("down")


def test_services_can_stay_up_after_the_run(up: Up) -> None:
    staying = ("ends", "stays")
    up.start({"agent-0": staying, "agent-1": staying, "observer": staying}, "--stay")
    until(lambda: "services stay up" in up.err())
    assert len(up.left()) == 4
    assert len(re.findall(r"(?:broker|observer|agent-\d): http://127\.0\.0\.1:\d+/metrics", up.err())) == 4
    up.signal(signal.SIGINT)
    assert up.end() == 0
    assert "12.34" in up.out()


def test_a_terminal_shows_a_living_table(up: Up) -> None:
    up.start({"agent-0": ("ends",), "agent-1": ("ends",), "observer": ("ends",)}, terminal=True)
    shown = up.read_terminal()
    assert up.end() == 0
    assert "starting observer and broker" in shown
    assert "running" in shown
    assert "observed" in shown


def test_no_living_table_where_none_is_wanted(up: Up) -> None:
    ends = ("ends",)
    up.start({"agent-0": ends, "agent-1": ends, "observer": ends}, "--headless", terminal=True)
    shown = up.read_terminal()
    assert up.end() == 0
    assert "running: round 0/5" in shown
    assert "observed" not in shown


def test_a_run_without_a_summary_is_a_failure(up: Up) -> None:
    up.start({"agent-0": ("ends",), "agent-1": ("ends",), "observer": ("ends",)})
    (up.path / "ready.json").unlink()
    assert up.end() == 1
    assert "observer ended with exit code 1" in up.err()


def test_rounds_that_were_not_recorded_are_a_failure(up: Up) -> None:
    ends = ("ends",)
    up.start({"agent-0": ends, "agent-1": ends, "observer": ends}, "--set", "algorithm.stop_after=6")
    assert up.end() == 1
    assert "edgefw: 5 of 6 rounds were recorded" in up.err()
    assert "12.34" in up.out()


def test_a_scenario_that_cannot_be_emulated_makes_no_folder(up: Up) -> None:
    up.start({}, "--set", "precision=float64")
    assert up.end() == 2
    assert "float32" in up.err()
    assert not (up.path / "run").exists()


def hint(admin: int, **fields: object) -> str:
    place = Place("127.0.0.1", 1, 2)
    return delay_hint(load("default", {"delays": [], **fields}), Places(place, place, (), admin))


def test_a_run_beside_another_says_the_whole_command_that_reaches_it() -> None:
    assert "edgefw delay set 3 750ms, or http://127.0.0.1:7070/docs" in hint(7070)
    assert "edgefw delay set 3 750ms --admin 127.0.0.1:40123, or" in hint(40123)


def test_the_command_that_changes_delays_is_one_that_the_run_takes() -> None:
    assert "edgefw delay set 1 750ms, or" in hint(7070, **{"network.agents": 2, "network.topology": "line"})
    assert "edgefw delay set 3 20, or" in hint(7070, clock="rounds", pace="asap")


def test_it_loads_what_it_is_not_asked_for_later() -> None:
    """Or every run would begin half a second later: services for virtual time, and reports for the end."""
    heavy = ("edgefw.virtual", "edgefw.reports", "edgefw.services.agent", "edgefw.services.broker")
    program = f"import edgefw.commands.up, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_fault_that_would_begin_after_the_last_round_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = {"data.source": "synthetic", "data.samples": 40, "data.features": 3, "algorithm.stop_after": 6}
    prepared(load("one-slow-device", fields), tmp_path / "run")
    assert capsys.readouterr().err.startswith(
        "warning: events.0 does nothing: it begins in round 241, and the"
    )
