"""What `docker compose up` needs of a host; what is missing is told in a line each that says what to do."""

from __future__ import annotations

import re
import socket
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.containers.compose import GRAFANA, PROMETHEUS, PYTHON, image
from edgefw.containers.engine import Containers, EngineError
from edgefw.containers.project import project_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

COMPOSE = (2, 26)  # the oldest that the file is written for
ENGINE, API = (
    "20.10",
    (1, 41),
)  # ... and the oldest engine, by the version of its API: not all engines are Docker's
PORTS = {
    "EDGEFW_PAGE_PORT": 7071,
    "EDGEFW_ADMIN_PORT": 7070,
    "EDGEFW_PROMETHEUS_PORT": 9090,
    "EDGEFW_GRAFANA_PORT": 3000,
}
NEEDED = ("docker/Dockerfile", "docker/prometheus/prometheus.yml", "docker/grafana/dashboards")
SECONDS = 20  # for the docker command


@dataclass(frozen=True)
class Finding:
    """One line about a host; `fatal` if nothing starts before it is mended."""

    text: str
    fatal: bool = True


@dataclass(frozen=True)
class Images:
    """Which images can be had: those that are `here`, and those that a registry answers for."""

    here: frozenset[str]
    pullable: frozenset[str]

    def has(self, name: str) -> bool:
        """Whether an image can be had, in one way or the other."""
        return name in self.here or name in self.pullable

    @property
    def command(self) -> str:
        """The command that starts everything which can be started here.

        Without Grafana's image Compose is to pull nothing: it would try, though no Grafana is started.
        """
        build = " --build" if self.has(PYTHON) else ""
        if self.has(GRAFANA):
            return f"docker compose up{build}"
        pull = "" if PROMETHEUS in self.here else "docker compose pull prometheus && "
        return f"{pull}docker compose up{build} --scale grafana=0 --pull never"


@dataclass(frozen=True)
class Report:
    """What is wrong with a host, and what to do on it if nothing of that is fatal."""

    findings: list[Finding]
    command: str

    @property
    def ready(self) -> bool:
        """Whether the command will work."""
        return not any(finding.fatal for finding in self.findings)


def check(folder: Path, environment: Mapping[str, str]) -> Report:
    """Return what is wrong with this host, for a Compose file in a folder."""
    findings = [*_files(folder), *_command()]
    images = Images(frozenset(), frozenset())
    try:
        containers = Containers(project_of(environment))
    except EngineError as error:
        findings += [Finding(str(error)), *_ports(environment, None)]
    else:
        with containers:
            images = _look(containers)
            findings += [*_engine(containers), *_ports(environment, containers), *_absent(images)]
    return Report(findings, images.command)


def _files(folder: Path) -> Iterator[Finding]:
    """Yield that the folder has not what the Compose file refers to."""
    absent = [name for name in NEEDED if not (folder / name).exists()]
    if absent:
        yield Finding(
            f"there is no {absent[0]} in {folder.resolve()}: "
            "the Compose file has to be in a clone of the project"
        )


def _command() -> Iterator[Finding]:
    """Yield what is wrong with the docker command and its Compose."""
    wanted = ".".join(map(str, COMPOSE))
    try:
        found = subprocess.run(
            ["docker", "compose", "version", "--short"],  # noqa: S607 - the one that the user will start
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        yield Finding(
            "there is no docker command: install Docker, see https://docs.docker.com/engine/install"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding(f"`docker compose version` cannot be run ({error}): install Docker anew")
    else:
        if found.returncode or not (version := _numbers(found.stdout)):
            yield Finding(f"docker has no Compose: install its plugin docker-compose, {wanted} or newer")
        elif version < COMPOSE:
            yield Finding(f"Docker Compose {found.stdout.strip()} is too old: install {wanted} or newer")


def _engine(containers: Containers) -> Iterator[Finding]:
    """Yield that the engine is too old."""
    version, api = containers.versions()
    if _numbers(api) < API:
        yield Finding(f"the Docker engine {version} is too old: install {ENGINE} or newer")


def _ports(environment: Mapping[str, str], containers: Containers | None) -> Iterator[Finding]:
    """Yield which of this machine's ports cannot be had; those that the run itself has are its own."""
    if containers is not None and not containers.is_here:
        return  # its ports are those of another machine
    for variable, usual in PORTS.items():
        text = environment.get(variable) or str(usual)
        if not text.isdecimal() or not 1 <= int(text) <= 65_535:
            yield Finding(f"{variable} is {text!r}: it has to be a port, 1 to 65535")
        elif not _free(int(text)):
            holder = containers.publisher(int(text)) if containers else None
            if containers is None or holder is None or not containers.owns(holder):
                whose = f" by container {holder.container.name}" if holder else ""
                yield Finding(f"port {text} of 127.0.0.1 is taken{whose}: set {variable} to another")


def _free(port: int) -> bool:
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except PermissionError:  # a low one: the engine may have it
            return True
        except OSError:
            return False
    return True


def _look(containers: Containers) -> Images:
    """Return which images can be had; a registry is asked only for what is not here."""
    names = (image(), PYTHON, PROMETHEUS, GRAFANA)
    here = frozenset(name for name in names if containers.has_image(name))
    pulled = {PYTHON, PROMETHEUS, GRAFANA} - here
    return Images(here, frozenset(name for name in pulled if containers.can_pull(name)))


def _absent(images: Images) -> Iterator[Finding]:
    """Yield which images cannot be had; the project's own is built on Python's."""
    bring = "`docker/host.sh` makes a stand-in on Debian, where no registry can be reached"
    for name in (PROMETHEUS,) if image() in images.here else (PYTHON, PROMETHEUS):
        if not images.has(name):
            yield Finding(f"image {name} is not here and cannot be pulled: {bring}")
    if not images.has(GRAFANA):
        yield Finding(
            f"image {GRAFANA} is not here and cannot be pulled: `{images.command}` does without", fatal=False
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, or nothing.

    >>> _numbers("v2.26.1-desktop.4"), _numbers("dev")
    ((2, 26), ())
    """
    found = re.search(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else ()
