"""The ground that all tests stand on: limits, order, and an environment that is the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from engine import ROOT

from edgefw.problem.datasets import PUBLISHED, locate

HANGS = """
import asyncio, threading, pytest

def test_in_a_loop():
    asyncio.run(asyncio.Event().wait())

def test_in_a_thread():
    threading.Event().wait()

def test_afterwards():
    pass
"""
STORY = "import pytest\npytestmark = pytest.mark.in_order\n" + "".join(
    f"def test_{number}(): pass\n" for number in range(20)
)


def run_tests(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run tests of that text under the project's own settings."""
    (folder / "test_it.py").write_text(text)
    given = (
        "-c",
        ROOT / "pyproject.toml",
        "--rootdir",
        folder,
        "--confcutdir",
        folder,
        "-p",
        "no:cacheprovider",
    )
    command = [sys.executable, "-m", "pytest", *map(str, given), "-p", "conftest", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run(
        [*command, "test_it.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_hang_fails_within_its_limit_and_the_others_go_on(tmp_path: Path, workers: str) -> None:
    done = run_tests(tmp_path, HANGS, "-n", workers, "--timeout", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 1 passed" in done.stdout
    assert done.stdout.count("Failed: Timeout (>1.0s)") >= 2


def test_every_test_has_a_limit_and_slow_ones_a_wider_one(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    assert 0 < float(pytestconfig.getini("timeout")) < 600
    slow = "import pytest\n@pytest.mark.slow\ndef test_it(request):\n"
    slow += "    assert request.node.get_closest_marker('timeout').args == (600,)\n"
    done = run_tests(tmp_path, slow)
    assert done.returncode == 0, done.stdout


def collected(folder: Path, text: str) -> list[str]:
    """Return the names of tests in the order in which they would run with a certain seed."""
    done = run_tests(folder, text, "--collect-only", "--randomly-seed", "1")
    assert "Using --randomly-seed=1" in done.stdout
    return [line.strip() for line in done.stdout.splitlines() if "<Function" in line]


def test_the_order_is_random_but_for_a_story_and_the_seed_is_told(tmp_path: Path) -> None:
    expected = [f"<Function test_{number}>" for number in range(20)]
    assert collected(tmp_path, STORY) == expected
    shuffled = collected(tmp_path, STORY.replace("in_order", "slow"))
    assert shuffled != expected
    assert sorted(shuffled) == sorted(expected)


def test_nothing_of_this_machine_is_seen() -> None:
    assert not any(locate(name) for name in PUBLISHED)
    assert not list(Path("~").expanduser().iterdir())
    assert not [name for name in os.environ if name.lower().endswith("_proxy")]


@pytest.mark.parametrize("first", [True, False])
def test_the_cache_is_empty_at_the_beginning(first: bool) -> None:  # noqa: FBT001
    del first
    cache = Path(os.environ["XDG_CACHE_HOME"])
    assert not cache.exists()
    cache.mkdir(parents=True)
