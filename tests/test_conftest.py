"""The ground that all tests stand on: limits, order, and an environment that is the same everywhere."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from engine import ROOT
from hypothesis import HealthCheck, settings

from edgefw.problem.datasets import PUBLISHED, locate

HANGS = """
import asyncio, signal, threading, pytest

def test_in_a_loop():
    asyncio.run(asyncio.Event().wait())

def test_in_a_thread():
    threading.Event().wait()

def test_interrupts():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

@pytest.mark.slow
def test_slow(request):
    assert request.node.get_closest_marker("timeout").args == (600,)
"""
NAMES = [f"test_{number}" for number in range(20)]
SHUFFLED = "".join(f"def {name}(): pass\n" for name in NAMES)
STORY = f"import pytest\npytestmark = pytest.mark.in_order\n{SHUFFLED}"


def _in_the_background() -> None:
    """Do as a shell does to what is started with `&`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


one_run = pytest.mark.xdist_group("conftest")  # of pytest, for those who look at what it said


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of these tests under the project's settings, but for one seed and a short limit."""
    folder = tmp_path_factory.mktemp("tests")
    for name, text in {"hangs": HANGS, "shuffled": SHUFFLED, "story": STORY}.items():
        (folder / f"test_{name}.py").write_text(text)
    settings = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-p", "conftest")
    without = ("-p", "no:cacheprovider", "-p", "no:schemathesis")
    options = ("-v", "-n", "1", "--timeout", "3", "--randomly-seed", "1", ".")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, *without, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        preexec_fn=_in_the_background,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@one_run
def test_a_hang_fails_within_its_limit_and_the_others_go_on(told: str) -> None:
    assert "2 failed, 42 passed" in told
    assert told.count("Failed: Timeout (>3.0s)") >= 2


@one_run
def test_every_test_has_a_limit_and_slow_ones_a_wider_one(told: str, pytestconfig: pytest.Config) -> None:
    assert 0 < float(pytestconfig.getini("timeout")) < 600
    assert re.search(r"PASSED .*test_slow", told)


@one_run
def test_the_order_is_random_but_for_a_story_and_the_seed_is_told(told: str) -> None:
    assert "Using --randomly-seed=1" in told
    assert re.findall(r"PASSED .*test_story.py::(\w+)", told) == NAMES
    shuffled = re.findall(r"PASSED .*test_shuffled.py::(\w+)", told)
    assert shuffled != NAMES
    assert sorted(shuffled) == sorted(NAMES)


def test_nothing_of_this_machine_is_seen(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert not any(locate(name) for name in PUBLISHED)
    assert Path("~").expanduser().is_relative_to(tmp_path_factory.getbasetemp())
    assert not [name for name in os.environ if name.lower().endswith("_proxy")]


def test_properties_are_tried_for_as_long_as_it_takes() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings(max_examples=5).suppress_health_check


@pytest.mark.parametrize("first", [True, False])
def test_the_cache_is_empty_at_the_beginning(first: bool) -> None:  # noqa: FBT001
    del first
    cache = Path(os.environ["XDG_CACHE_HOME"])
    assert not cache.exists()
    cache.mkdir(parents=True)
