"""What `docker compose up` needs of a host; what is missing is told in a line each that says what to do."""

from __future__ import annotations

import re
import socket
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgefw.cluster.compose import GRAFANA, PROMETHEUS, PYTHON, image
from edgefw.cluster.engine import DEFAULT_PROJECT, Cluster, ClusterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

COMPOSE = (2, 26)  # the oldest that the file is written for
ENGINE, API = (
    "20.10",
    (1, 41),
)  # ... and the oldest engine, by the version of its API: not all engines are Docker's
PORTS = {"EDGEFW_ADMIN_PORT": 7070, "EDGEFW_PROMETHEUS_PORT": 9090, "EDGEFW_GRAFANA_PORT": 3000}
NEEDED = ("docker/Dockerfile", "docker/prometheus/prometheus.yml", "docker/grafana/dashboards")
SECONDS = 20  # for the docker command


@dataclass(frozen=True)
class Finding:
    """One line about a host; `fatal` if nothing starts before it is mended."""

    text: str
    fatal: bool = True


def check(folder: Path, environment: Mapping[str, str]) -> list[Finding]:
    """Return what is wrong with this host, for a Compose file in a folder; an empty list: nothing."""
    return [*_files(folder), *_command(), *_engine(environment)]


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


def _engine(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is wrong with the engine, the ports and the images on its host."""
    try:
        cluster = Cluster(DEFAULT_PROJECT)
    except ClusterError as error:
        yield Finding(str(error))
        yield from _ports(environment, None)
        return
    with cluster:
        version, api = cluster.versions()
        if _numbers(api) < API:
            yield Finding(f"the Docker engine {version} is too old: install {ENGINE} or newer")
        if cluster.is_here:
            yield from _ports(environment, cluster)
        yield from _images(cluster)


def _ports(environment: Mapping[str, str], cluster: Cluster | None) -> Iterator[Finding]:
    """Yield which of the ports on this machine cannot be had; those that the run itself has are its own."""
    for variable, usual in PORTS.items():
        text = environment.get(variable) or str(usual)
        if not text.isdecimal() or not 1 <= int(text) <= 65_535:
            yield Finding(f"{variable} is {text!r}: it has to be a port, 1 to 65535")
        elif not _free(int(text)):
            holder = cluster.publisher(int(text)) if cluster else None
            if cluster is None or holder is None or not cluster.owns(holder):
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


def _images(cluster: Cluster) -> Iterator[Finding]:
    """Yield which images are neither here nor to be had; the project's own is built on Python's."""
    bring = "`docker/host.sh` makes a stand-in on Debian, where no registry can be reached"
    for name in (PROMETHEUS,) if cluster.has_image(image()) else (PYTHON, PROMETHEUS):
        if not _obtainable(cluster, name):
            yield Finding(f"image {name} is not here and cannot be pulled: {bring}")
    if not _obtainable(cluster, GRAFANA):
        yield Finding(
            f"image {GRAFANA} is not here and cannot be pulled: "
            "`docker compose up --scale grafana=0` does without",
            fatal=False,
        )


def _obtainable(cluster: Cluster, name: str) -> bool:
    return cluster.has_image(name) or cluster.can_pull(name)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, or nothing.

    >>> _numbers("v2.26.1-desktop.4"), _numbers("dev")
    ((2, 26), ())
    """
    found = re.search(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else ()
