"""A terminal in a copy of the repository, for the tests that type what pages say."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from containers import PORTS, free_ports, has_image
from engine import ROOT, need_image, prometheus_image, python_image

from edgefw.containers.compose import GRAFANA

LONGEST = 600  # seconds for a command
OUTSIDE = dict(os.environ)  # how packages and the engine are found, before it is made the same everywhere
KEPT = ("PATH", "LANG", "DOCKER_HOST", "DOCKER_CONFIG")


class Terminal:
    """A shell in a folder where an environment was activated: the folder's own, or that of the tests."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self._folder = folder
        packages = {name for name in OUTSIDE if name.startswith("PIP_") or name.lower().endswith("_proxy")}
        found = {name: OUTSIDE[name] for name in (*KEPT, *packages) if name in OUTSIDE}
        same = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("XDG_", "MPL", "HOME", "DOCKER_"))
        }
        own = folder / ".venv" / "bin"
        commands = own if own.is_dir() else Path(sys.executable).parent
        self._environment = {**found, **same, **variables, "PATH": f"{commands}:{found['PATH']}"}

    @classmethod
    def for_containers(cls, folder: Path, name: str, **variables: str) -> tuple[Self, dict[str, str]]:
        """Return one for commands that start containers, and what is put in place of what in them.

        Ports and project are its own, to be in nobody's way; Grafana is left out where it has to be.
        """
        for image in (python_image(), prometheus_image()):
            need_image(image)
        ports = {each: str(port) for each, port in zip(PORTS, free_ports(len(PORTS)), strict=True)}
        project = f"edgefw-test-{name}-{os.getpid()}"
        left_out = "" if has_image(GRAFANA) else "--scale grafana=0 --pull never "
        here = {
            " up -d ": f" up {left_out}-d ",
            "127.0.0.1:7070/": f"127.0.0.1:{ports['EDGEFW_ADMIN_PORT']}/",
            "curl ": "curl --fail-with-body ",
        }
        return cls(folder, COMPOSE_PROJECT_NAME=project, **ports, **variables), here

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


def copy_repository(folder: Path) -> None:
    """Copy what is to be committed into a folder."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in filter(lambda name: (ROOT / name).exists(), names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)


def replaced(command: str, by: dict[str, str]) -> str:
    """Return a command with some words put in place of others."""
    for there, here in by.items():
        command = command.replace(there, here)
    return command
