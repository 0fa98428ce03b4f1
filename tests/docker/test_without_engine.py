"""Where there is no engine the tests that need one are skipped, and the last line says so; or they fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from engine import REQUIRED, ROOT

IMAGE = Path(__file__).with_name("test_image.py")


def _tests(tmp_path: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run some tests in a place where no engine answers."""
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none", **variables}
    environment.pop("PYTEST_ADDOPTS", None)
    if REQUIRED not in variables:
        environment.pop(REQUIRED, None)
    without = ("-p", "no:cacheprovider", "-p", "no:schemathesis")  # which take their time to load
    command = [sys.executable, "-m", "pytest", str(IMAGE), *without, *options]
    return subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("options", [("--quiet",), ("-n", "1", "--dist", "loadgroup")], ids=" ".join)
def test_what_is_left_out_is_told_in_the_last_line(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = _tests(tmp_path, *options)
    assert done.returncode == 0, done.stdout
    last = done.stdout.splitlines()[-1]
    assert re.match(r"[1-9]\d* tests that need containers were skipped: .*[Dd]ocker", last)


def test_where_an_engine_is_required_it_is_an_error(tmp_path: Path) -> None:
    done = _tests(tmp_path, **{REQUIRED: "1"})
    assert done.returncode == 1
    assert f"{REQUIRED} is set, but " in done.stdout
    assert " errors in " in done.stdout.splitlines()[-1]
