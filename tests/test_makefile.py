"""`make install` with a Python that is too old says what is needed, in one line, and makes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OF_MAKE = {
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
}  # `make test` tells what it starts that it is inside another make

OLD = """#!/bin/sh
[ "$1" = -c ] && exec {python} -c "import sys; sys.version_info = (3, {minor}, 1); exec(sys.argv[1])" "$2"
echo "$@"; mkdir -p .venv/bin; ln -sf /bin/true .venv/bin/pip
"""


def install(folder: Path, minor: int) -> subprocess.CompletedProcess[str]:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    python = folder / "python"
    python.write_text(OLD.format(python=sys.executable, minor=minor))
    python.chmod(0o755)
    command = ["make", "install", f"PYTHON={python}"]
    alone = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    return subprocess.run(command, cwd=folder, env=alone, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("minor", [8, 10])
def test_an_old_python_is_refused(tmp_path: Path, minor: int) -> None:
    made = install(tmp_path, minor)
    assert made.returncode
    first, *rest = made.stderr.splitlines()
    assert first.startswith("edgefw needs Python 3.11 or later, and ")
    assert f" is 3.{minor}: say which" in first
    assert all(line.startswith("make: ") for line in rest)
    assert not (tmp_path / ".venv").exists()


def test_a_python_that_will_do_is_used(tmp_path: Path) -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert needed == ">=3.11"
    made = install(tmp_path, 11)
    assert made.returncode == 0, made.stderr
    assert "-m venv .venv" in made.stdout
