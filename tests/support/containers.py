"""A run in containers, in a Compose project of its own, for the tests that need an engine."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
from engine import ROOT, docker, need_image, prometheus_image, python_image
from waiting import PATIENCE

from edgefw.containers.compose import GRAFANA, image, render
from edgefw.scenario.load import load

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from edgefw.scenario.model import Scenario

PORTS = ("EDGEFW_PAGE_PORT", "EDGEFW_ADMIN_PORT", "EDGEFW_PROMETHEUS_PORT", "EDGEFW_GRAFANA_PORT")
_EVERYONES_METRICS = """
import json, urllib.request as r
def get(url): return r.urlopen("http://" + url, timeout=5).read().decode()
places = [t for group in json.loads(get("127.0.0.1:9464/targets")) for t in group["targets"]]
print(json.dumps({place: get(place + "/metrics") for place in ["observer:9464", *places]}))
"""


class Project:
    """A Compose project; without a scenario it is that of the committed file."""

    def __init__(self, name: str, scenario: Scenario | None = None, without: tuple[str, ...] = ()) -> None:
        for needed in (python_image(), prometheus_image()):
            need_image(needed)
        self.name = f"edgefw-test-{name}-{os.getpid()}"
        self._text = None if scenario is None else render(scenario, name)
        self._without = without
        self._ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self._http = httpx.Client(timeout=PATIENCE, trust_env=False)
        self.seconds = 0.0  # that it took to be healthy

    def compose(self, *arguments: str, text: str | None = None) -> str:
        """Run a command of Compose on the project; `text` is for what it runs in a container."""
        file = ROOT / "compose.yaml" if self._text is None else "-"
        environment = {variable: str(port) for variable, port in self._ports.items()}
        project = ("compose", "--project-name", self.name, "--project-directory", ROOT, "--file", file)
        given = text if self._text is None else self._text
        return docker(*project, *arguments, text=given, environment=environment)

    def build(self) -> None:
        """Build the image from the working tree."""
        self.compose("build", "--quiet")

    def up(self, *how: str) -> None:
        """Start everything, and wait until it is healthy; what cannot be had here is left out.

        `how` is said to Compose in place of waiting.
        """
        left_out = {*self._without, *(() if has_image(GRAFANA) else ("grafana",))}
        scale = [word for service in sorted(left_out) for word in ("--scale", f"{service}=0")]
        begin = time.monotonic()
        try:
            self.compose("up", "--detach", "--pull", "never", *(how or ("--wait",)), *scale)
        except AssertionError as error:
            error.add_note(self.compose("logs", "--no-color", "--tail", "20"))
            raise
        self.seconds = time.monotonic() - begin

    def down(self) -> None:
        """Remove all of it, its volumes too."""
        self._http.close()
        self.compose("down", "--volumes", "--timeout", "1")

    def edgefw(self, *words: str, of_project: bool = True, codes: Collection[int] = (0,)) -> str:
        """Run a command of edgefw here, which ends with one of these codes; return what it prints."""
        done = self._edgefw(*words, *(("--project", self.name) if of_project else ()))
        assert done.returncode in codes, done.stderr
        return done.stdout

    def refused(self, *words: str) -> str:
        """Run a command of edgefw that has to refuse, in one line; return the line."""
        done = self._edgefw(*words, "--project", self.name)
        assert done.returncode in {1, 2}, done.stdout
        assert (done.stdout, done.stderr.count("\n")) == ("", 1), done.stderr
        return done.stderr.removeprefix("edgefw: ").rstrip("\n")

    def _edgefw(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "edgefw", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def in_image(self, *words: str) -> str:
        """Run a command of edgefw in the image that the run runs in, where its runs are."""
        options = ("--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", "--tmpfs", "/tmp")  # noqa: S108
        return docker("run", *options, "--volume", f"{self.name}_runs:/var/lib/edgefw", image(), *words)

    def data_sets(self, folder: Path) -> Path:
        """Bring the data sets of the image out, for commands on this machine, which may have none."""
        docker("cp", f"{self.name}-observer-1:/usr/share/datasets", folder)
        return folder / "datasets"

    def status(self) -> dict[str, dict[str, Any]]:
        """Return what `edgefw status` says, by service."""
        found = json.loads(self.edgefw("status", "--json"))
        return {each["name"]: each for each in found}

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return what the engine says of every container, by service."""
        ids = self.compose("ps", "--all", "--quiet").split()
        found = json.loads(docker("container", "inspect", *ids))
        return {each["Config"]["Labels"]["com.docker.compose.service"]: each for each in found}

    def addresses(self) -> dict[str, str]:
        """Return every container's address in the project's network, by service."""
        network = f"{self.name}_default"
        return {
            name: each["NetworkSettings"]["Networks"].get(network, {}).get("IPAddress", "")
            for name, each in self.containers().items()
        }

    def metrics(self) -> dict[str, str]:
        """Return the metrics of every service, by its place."""
        ask = ("exec", "-i", f"{self.name}-observer-1", "python", "-I", "-S", "-c", _EVERYONES_METRICS)
        found: dict[str, str] = json.loads(docker(*ask))
        return found

    def round(self) -> int:
        """Return the last round that is on record; 0 while the observer does not answer."""
        url = f"http://127.0.0.1:{self._ports['EDGEFW_PAGE_PORT']}/metrics"
        try:
            text = self._http.get(url).text
        except httpx.TransportError:
            return 0
        found = re.search(r"^edgefw_network_round (\S+)$", text, re.MULTILINE)
        return 0 if found is None else int(float(found.group(1)))

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the broker's admin endpoint, as curl would; return what it answers."""
        url = f"http://127.0.0.1:{self._ports['EDGEFW_ADMIN_PORT']}{path}"
        answer = self._http.request(method, url, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Ask Prometheus what an expression is now."""
        return self._ask("query", {"query": expression})

    def values(self, expression: str, label: str = "agent") -> dict[str, float]:
        """Return the value of each series of an expression, by one of its labels."""
        return {each["metric"].get(label, ""): float(each["value"][1]) for each in self.query(expression)}

    def history(self, expression: str, seconds: float) -> list[dict[str, Any]]:
        """Ask Prometheus as a panel of Grafana does: a value each second, up to now."""
        now = time.time()
        return self._ask(
            "query_range", {"query": expression, "start": now - seconds, "end": now, "step": "1s"}
        )

    def _ask(self, kind: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        url = f"http://127.0.0.1:{self._ports['EDGEFW_PROMETHEUS_PORT']}/api/v1/{kind}"
        answer = self._http.get(url, params=parameters).json()
        assert answer["status"] == "success", answer
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def grafana(self, path: str) -> httpx.Response:
        """Ask Grafana."""
        return self._http.get(f"http://127.0.0.1:{self._ports['EDGEFW_GRAFANA_PORT']}{path}")

    def collect(self, out: Path, *run: str) -> Path:
        """Bring a run's folder out (the latest, if none is named)."""
        said = self.edgefw("collect", *run, "--out", str(out))
        (folder,) = (path for path in out.iterdir() if f"{path} is there" in said)
        return folder


@contextmanager
def running(
    name: str, fields: Sequence[str], without: tuple[str, ...] = ("prometheus",)
) -> Iterator[Project]:
    """Run the playground with these overrides while the block runs.

    All start at once, without waiting for each other's health, which is probed every five seconds only.
    """
    project = Project(name, load("playground", fields), without)
    project.build()
    try:
        project.up("--no-deps")
        yield project
    finally:
        project.down()


def has_image(name: str) -> bool:
    """Whether the engine has an image."""
    return bool(docker("image", "ls", "--quiet", name).strip())


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback that nobody uses."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
