"""Every command of README and tutorial, as it stands, in a copy of the repository with its own environment.

`make newcomer` runs it: it installs, so it takes minutes and needs a package index.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from containers import PORTS, free_ports, has_image
from engine import need_image, prometheus_image, python_image
from typed import ELSEWHERE, Session, blocks, sessions
from waiting import until

from edgefw.containers.compose import GRAFANA

pytestmark = [pytest.mark.newcomer, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]
LONGEST = 600  # seconds for a command
OUTSIDE = dict(os.environ)  # how packages and the engine are found, before it is made the same everywhere
KEPT = ("PATH", "LANG", "DOCKER_HOST", "DOCKER_CONFIG")


class Terminal:
    """A shell in a copy of the repository, whose environment was activated."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self._folder = folder
        packages = {name for name in OUTSIDE if name.startswith("PIP_") or name.lower().endswith("_proxy")}
        found = {name: OUTSIDE[name] for name in (*KEPT, *packages) if name in OUTSIDE}
        same = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("XDG_", "MPL", "HOME", "DOCKER_"))
        }
        path = f"{folder / '.venv' / 'bin'}:{found['PATH']}"
        self._environment = {**found, **same, **variables, "PATH": path}

    def save(self, name: str, text: str) -> None:
        """Save a file."""
        (self._folder / name).write_text(text, encoding="utf-8")

    def begin(self, command: str) -> subprocess.Popen[str]:
        """Begin a command."""
        return subprocess.Popen(
            ["bash", "-c", command],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def type(self, command: str) -> str:
        """Type a command that has to end well; return what it prints."""
        return self.wait(self.begin(command), command)

    def wait(self, process: subprocess.Popen[str], command: str) -> str:
        """Wait for a command's good end; return what it printed."""
        try:
            said, _ = process.communicate(timeout=LONGEST)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
        assert process.returncode == 0, f"{command}\n{said}"
        return said

    def answers(self) -> bool:
        """Whether a run is there to talk to."""
        with self.begin("edgefw delay ls") as asked:
            asked.communicate()
        return asked.returncode == 0


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what is to be committed, after `make install`."""
    folder = tmp_path_factory.mktemp("newcomer") / "edgefw"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in filter(lambda name: (ROOT / name).exists(), names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    Terminal(folder).type("make install")
    return folder


def test_what_is_typed_elsewhere_is_typed() -> None:
    for command, where in ELSEWHERE.items():
        assert f"\n{command}\n" in (ROOT / where).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_as_they_stand(copy: Path, page: Path) -> None:
    terminal = Terminal(copy)
    assert not terminal.answers(), "a run listens on this machine: end it first"
    found = sessions(block for block in blocks(page) if block.how != "containers")
    assert found
    for session in found:
        _play(terminal, session)


def _play(terminal: Terminal, session: Session) -> None:
    """Type a command, and in another terminal what goes with it."""
    for name, text in session.files.items():
        terminal.save(name, text)
    running = terminal.begin(session.command)
    if session.meanwhile:
        until(lambda: terminal.answers() or running.poll() is not None, "it runs", LONGEST)
    for command in session.meanwhile:
        terminal.type(command)
    terminal.wait(running, session.command)


def test_the_commands_for_containers_work_too(copy: Path) -> None:
    """Ports and project are the test's own, to be in nobody's way; Grafana is left out where it has to be."""
    for image in (python_image(), prometheus_image()):
        need_image(image)
    ports = {name: str(port) for name, port in zip(PORTS, free_ports(len(PORTS)), strict=True)}
    terminal = Terminal(copy, COMPOSE_PROJECT_NAME=f"edgefw-test-newcomer-{os.getpid()}", **ports)
    left_out = "" if has_image(GRAFANA) else "--scale grafana=0 --pull never "
    here = {
        "docker compose up ": f"docker compose up {left_out}",
        "127.0.0.1:7070/": f"127.0.0.1:{ports['EDGEFW_ADMIN_PORT']}/",
        "curl ": "curl --fail-with-body ",
    }
    try:
        for block in (block for page in PAGES for block in blocks(page) if block.how == "containers"):
            for command in block.commands:
                terminal.type(_replaced(command, here))
    finally:
        terminal.type("docker compose down --volumes --timeout 1")


def _replaced(command: str, by: dict[str, str]) -> str:
    for there, here in by.items():
        command = command.replace(there, here)
    return command
