"""A Docker engine for tests, where there is one; elsewhere they are skipped with the reason."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "docker" / "Dockerfile"
REQUIRED = "EDGEFW_REQUIRE_ENGINE"  # set where an engine is expected: then what is missing fails a test
NEEDS = "needs containers: "  # how the reason of a skipped test begins; see tests/conftest.py


def docker(
    *arguments: str | Path, text: str | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Run the docker client (`text` is its input); return what it prints, or fail with what it says."""
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run(
        ["docker", *arguments], input=text, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"docker {arguments[0]}: {done.stderr or done.stdout}"
    return done.stdout


def need_image(name: str) -> None:
    """Skip the test unless the engine answers and has the image."""
    if reason := why_no_engine():
        missing(reason)
    if subprocess.run(["docker", "image", "inspect", name], capture_output=True, check=False).returncode:
        missing(f"image {name} is not here: docker/host.sh brings it")


def missing(reason: str) -> NoReturn:
    """Skip the test, or fail it where an engine is required."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{REQUIRED} is set, but {reason}")
    pytest.skip(NEEDS + reason)


@cache
def why_no_compose() -> str | None:
    """Return why Compose files cannot be read, or None if they can; that needs no engine."""
    if shutil.which("docker") is None:
        return "there is no docker command"
    asked = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return None if asked.returncode == 0 else "the docker command has no Compose v2"


@cache
def why_no_engine() -> str | None:
    """Return why there is no engine to use, or None if there is one."""
    if reason := why_no_compose():
        return reason
    asked = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False, timeout=PATIENCE)
    return None if asked.returncode == 0 else "no Docker engine answers"


def python_image() -> str:
    """Return the base image that docker/Dockerfile names."""
    found = re.search(r"^ARG PYTHON_IMAGE=(\S+)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, "docker/Dockerfile names no base image"
    return found.group(1)


def prometheus_image() -> str:
    """Return the Prometheus image that compose.yaml pins; before there is one, any that is here."""
    compose = ROOT / "compose.yaml"
    text = compose.read_text(encoding="utf-8") if compose.exists() else ""
    if found := re.search(r"\bimage:\s*[\"']?(prom/prometheus:[\w.-]+)", text):
        return found.group(1)
    listed = docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "prom/prometheus").split()
    return listed[0] if listed else "prom/prometheus"
