"""`edgefw compose --check`: whatever is missing on a host is told in one line that says what to do."""

from __future__ import annotations

import gc
import os
import socket
from typing import TYPE_CHECKING

import pytest
from engine import ROOT, docker, need_image, prometheus_image
from told_engine import told_engine

from edgefw.cli import main
from edgefw.containers import checks
from edgefw.containers.compose import GRAFANA, PROMETHEUS, PYTHON, image

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from told_engine import ToldEngine

    Checked = Callable[..., tuple[int, list[str]]]

READY = "this host is ready: "


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToldEngine]:
    """An engine that has everything, and the newest Compose."""
    monkeypatch.delenv("COMPOSE_PROJECT_NAME", raising=False)
    for variable, port in zip(checks.PORTS, _free_ports(len(checks.PORTS)), strict=True):
        monkeypatch.setenv(variable, str(port))
    _put_docker(tmp_path, monkeypatch, "echo v2.39.4")
    with told_engine(tmp_path / "engine") as server:
        monkeypatch.setenv("DOCKER_HOST", server.host)
        yield server


@pytest.fixture
def checked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Checked:
    """Return a function that runs the command in a clone; it returns the exit code and the lines.

    `command` is what the host is to be ready for.
    """
    monkeypatch.chdir(ROOT)

    def check(*arguments: str, command: str = "docker compose up --build") -> tuple[int, list[str]]:
        code = main(["compose", "--check", *arguments])
        out, err = capsys.readouterr()
        assert out == ("" if code else f"{READY}{command}\n")
        assert all(line.startswith("edgefw: ") for line in err.splitlines())
        return code, [line.removeprefix("edgefw: ") for line in err.splitlines()]

    return check


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _put_docker(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    command = folder / "bin" / "docker"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f"#!/bin/sh\n{does}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")


@pytest.mark.usefixtures("engine")
def test_a_host_that_has_everything_is_ready(checked: Checked) -> None:
    assert checked() == (0, [])


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:1", "tcp://x:999999", "?"])
@pytest.mark.usefixtures("engine")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the library leaves its socket to the collector
def test_an_engine_that_is_not_there(checked: Checked, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    code, lines = checked()
    gc.collect()
    assert (code, len(lines)) == (2, 1)
    assert lines[0].startswith("cannot reach the Docker engine (")
    assert "`docker info` tells; DOCKER_HOST says where it is" in lines[0]


def test_an_engine_that_is_too_old(checked: Checked, engine: ToldEngine) -> None:
    engine.api = "1.40"
    assert checked() == (2, ["the Docker engine 20.10.24 is too old: install 20.10 or newer"])


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("echo 2.25.0", "Docker Compose 2.25.0 is too old: install 2.26 or newer"),
        ("echo v1.29.2", "Docker Compose v1.29.2 is too old: install 2.26 or newer"),
        ("exit 1", "docker has no Compose: install its plugin docker-compose, 2.26 or newer"),
        ("echo dev", "docker has no Compose: install its plugin docker-compose, 2.26 or newer"),
    ],
)
@pytest.mark.usefixtures("engine")
def test_a_compose_that_does_not_do(
    checked: Checked, does: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put_docker(tmp_path, monkeypatch, does)
    assert checked() == (2, [said])


@pytest.mark.parametrize("version", ["2.26.0", "v2.26.1-desktop.1", "5.0.0", "2.26.1-4"])
@pytest.mark.usefixtures("engine")
def test_a_compose_that_does(
    checked: Checked, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put_docker(tmp_path, monkeypatch, f"echo {version}")
    assert checked() == (0, [])


@pytest.mark.usefixtures("engine")
def test_no_docker_command(checked: Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, lines = checked()
    assert (code, len(lines)) == (2, 1)
    assert lines[0].startswith("there is no docker command: install Docker")


@pytest.mark.parametrize("variable", checks.PORTS)
@pytest.mark.usefixtures("engine")
def test_a_port_that_is_taken(checked: Checked, variable: str) -> None:
    with socket.create_server(("", int(os.environ[variable]))):
        code, lines = checked()
    assert (code, lines) == (
        2,
        [f"port {os.environ[variable]} of 127.0.0.1 is taken: set {variable} to another"],
    )
    assert checked() == (0, [])


@pytest.mark.parametrize(
    ("project", "chosen", "code"),
    [("edgefw", "", 0), ("other", "", 2), ("edgefw", "other", 2), ("other", "other", 0)],
)
def test_a_port_that_a_container_has(
    checked: Checked,
    engine: ToldEngine,
    project: str,
    chosen: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What `docker compose up` has started itself is not in its way."""
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", chosen)
    labels = {"com.docker.compose.project": project, "com.docker.compose.service": "broker"}
    state = {"Status": "running"}
    engine.containers = (
        {"Id": "abc", "Name": "/a-broker-1", "Config": {"Labels": labels}, "State": state, "Names": ["/x"]},
    )
    port = os.environ["EDGEFW_ADMIN_PORT"]
    with socket.create_server(("127.0.0.1", int(port))):
        said = f"port {port} of 127.0.0.1 is taken by container a-broker-1: set EDGEFW_ADMIN_PORT to another"
        assert checked() == (code, [said] if code else [])


@pytest.mark.parametrize("text", ["none", "0", "65536", "-1"])
@pytest.mark.usefixtures("engine")
def test_a_port_that_is_none(checked: Checked, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEFW_GRAFANA_PORT", text)
    assert checked() == (2, [f"EDGEFW_GRAFANA_PORT is '{text}': it has to be a port, 1 to 65535"])


@pytest.mark.parametrize("name", [PYTHON, PROMETHEUS])
def test_an_image_that_is_missing(checked: Checked, engine: ToldEngine, name: str) -> None:
    engine.here -= {name}
    code, lines = checked()
    assert (code, len(lines)) == (2, 1)
    assert lines[0].startswith(f"image {name} is not here and cannot be pulled: `docker/host.sh`")
    engine.elsewhere = frozenset({name})
    assert checked() == (0, [])


def test_what_is_built_already_is_not_built_where_its_base_is_missing(
    checked: Checked, engine: ToldEngine
) -> None:
    engine.here = (engine.here | {image()}) - {PYTHON}
    assert checked(command="docker compose up") == (0, [])


def test_a_host_without_grafana_is_ready_for_a_command_that_pulls_nothing(
    checked: Checked, engine: ToldEngine
) -> None:
    engine.here -= {GRAFANA}
    command = "docker compose up --build --scale grafana=0 --pull never"
    said = f"note: image {GRAFANA} is not here and cannot be pulled: `{command}` does without"
    assert checked(command=command) == (0, [said])


def test_where_only_grafana_cannot_be_pulled_prometheus_is_pulled_first(
    checked: Checked, engine: ToldEngine
) -> None:
    engine.here -= {GRAFANA, PROMETHEUS}
    engine.elsewhere = frozenset({PROMETHEUS})
    up = "docker compose up --build --scale grafana=0 --pull never"
    code, _ = checked(command=f"docker compose pull prometheus && {up}")
    assert code == 0


@pytest.mark.usefixtures("engine")
def test_a_folder_that_is_no_clone(checked: Checked, tmp_path: Path) -> None:
    code, lines = checked("--out", str(tmp_path / "compose.yaml"))
    assert (code, len(lines)) == (2, 1)
    assert lines[0].startswith(f"there is no docker/Dockerfile in {tmp_path}: ")


def test_every_problem_is_told_at_once(
    checked: Checked, engine: ToldEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.here = frozenset()
    _put_docker(tmp_path, monkeypatch, "echo 2.0.0")
    with socket.create_server(("127.0.0.1", int(os.environ["EDGEFW_ADMIN_PORT"]))):
        code, lines = checked()
    assert code == 2
    assert [line.split()[0] for line in lines] == ["Docker", "port", "image", "image", "note:"]


def test_the_engine_of_this_machine(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the stand-in cannot show: a real engine answers such questions in this way."""
    need_image(prometheus_image())
    taken, *free = _free_ports(len(checks.PORTS))
    for variable, port in zip(checks.PORTS, (taken, *free), strict=True):
        monkeypatch.setenv(variable, str(port))
    monkeypatch.setattr(checks, "PROMETHEUS", "edgefw/none:0.0.0")
    publish = ("--publish", f"127.0.0.1:{taken}:9090", "--name", f"edgefw-test-{taken}")
    docker("run", "--rm", "--detach", *publish, "--entrypoint", "sleep", prometheus_image(), "60")
    try:
        code, lines = checked()
    finally:
        docker("kill", f"edgefw-test-{taken}")
    problems = [line for line in lines if not line.startswith("note: ")]
    assert (code, len(problems)) == (2, 2)
    assert problems[0].startswith(f"port {taken} of 127.0.0.1 is taken by container edgefw-test-{taken}: ")
    assert problems[1].startswith("image edgefw/none:0.0.0 is not here and cannot be pulled: ")
