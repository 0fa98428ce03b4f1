"""Prometheus' own checker: the one on this machine, else the one in Prometheus' image."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from engine import missing, need_image, prometheus_image, why_no_engine

if TYPE_CHECKING:
    from pathlib import Path


def promtool(folder: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run promtool in a folder (skip the test where there is none); `text` is its standard input."""
    command = ["promtool", *arguments] if shutil.which("promtool") else _in_container(folder, arguments)
    return subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, check=False)


def _in_container(folder: Path, arguments: tuple[str, ...]) -> list[str]:
    if reason := why_no_engine():
        missing(f"promtool is not on this machine, and {reason}")
    image = prometheus_image()
    need_image(image)
    return [
        "docker", "run", "--rm", "--interactive", "--network", "none", "--read-only", "--tmpfs=/tmp",
        "--volume", f"{folder}:/checked:ro", "--workdir", "/checked",
        "--entrypoint", "/bin/promtool", image, *arguments,
    ]  # fmt: skip
