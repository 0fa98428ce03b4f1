"""The image's recipe keeps the usual rules, and its probe tells a healthy service from another."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from engine import DOCKERFILE, ROOT

from edgefw.containers.compose import image

if TYPE_CHECKING:
    from collections.abc import Iterator

PROBE = ROOT / "docker" / "healthz.py"
HOST = ROOT / "docker" / "host.sh"
EXAMPLE = ROOT / "examples" / "momentum" / "Dockerfile"


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    command = [str(hadolint), "--no-color", str(DOCKERFILE), str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_of_an_image_with_a_package_more_is_shown_and_begins_with_this_version() -> None:
    recipe = EXAMPLE.read_text(encoding="utf-8")
    assert f"\nFROM {image()}\n" in recipe
    assert f"```dockerfile\n{recipe}```" in (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def test_the_recipe_uses_nothing_that_an_old_engine_lacks() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert not re.search(r"<<|--link|--mount|--start-interval|^# *syntax=", text, re.MULTILINE)


def test_everything_that_is_copied_is_let_into_the_build() -> None:
    recipe = DOCKERFILE.read_text(encoding="utf-8")
    copies = [line.split()[1:-1] for line in recipe.splitlines() if re.match(r"COPY (?!--from)", line)]
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    needed = {source for copy in copies for source in copy}
    assert needed == {line.removeprefix("!") for line in allowed if line.startswith("!")}


class _Service(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), _Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def _probe(port: int | str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", str(PROBE)]
    environment = {"EDGEFW_METRICS_PORT": str(port)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1), (404, 1)])
def test_the_probe_tells_a_healthy_service(
    port: int, status: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Service, "status", status)
    done = _probe(port)
    assert (done.returncode, str(status) in done.stdout, done.stderr) == (code, True, "")


def test_the_probe_says_in_one_line_that_nobody_answers(port: int) -> None:
    done = _probe(1)
    assert done.returncode == 1
    assert done.stdout.startswith("no answer on port 1: ")
    assert done.stdout.count("\n") == 1
    assert port != 1


def test_the_host_script_explains_itself_and_refuses_what_it_does_not_know() -> None:
    told = subprocess.run([HOST, "--help"], capture_output=True, text=True, check=True)
    assert "docker/host.sh [--engine] [IMAGE...]" in told.stdout
    refused = subprocess.run([HOST, "--engines"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (1, "host: unknown option --engines: there is --engine\n")
