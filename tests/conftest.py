"""What holds for all tests: any machine will do, any order will do, and none takes for ever.

The very last line says which tests were left out because there are no containers on this machine.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from engine import NEEDS, REQUIRED
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from edgefw.local import running
from edgefw.problem.datasets import PUBLISHED, locate
from edgefw.services.observer.comparing import NICE

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOW_SECONDS = 600  # the limit of a test that is marked as slow
FOUND = {name: locate(name) for name in PUBLISHED}  # before the environment is made the same everywhere
# What changes how programs find each other, look for files, or write; three of them are switches of our own.
FOREIGN = ("EDGEFW_", "XDG_", "COMPOSE_", "TTY_", "PYTHONUNBUFFERED", "FORCE_COLOR", "NO_COLOR", "COLUMNS")
KEPT = {REQUIRED, "EDGEFW_REQUIRE_BROWSER", "EDGEFW_SCHEMA_EXAMPLES"}
_NUMBERS = itertools.count()

# Where byte code is not to be kept, every process that a test starts would compile the whole package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# How long an example takes, or how long it takes to find one, says something about the machine only.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def _is_foreign(name: str) -> bool:
    return name.lower().endswith("_proxy") or (name.startswith(FOREIGN) and name not in KEPT)


@pytest.fixture(scope="session", autouse=True)
def _same_everywhere(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[None]:
    """Give tests an environment that is the same on every machine: an empty home, and no data sets."""
    home, cache = tmp_path_factory.mktemp("home"), getattr(pytestconfig, "cache", None)
    # Fonts are looked for once, for half a minute.
    fonts = cache.mkdir("matplotlib") if cache else tmp_path_factory.mktemp("matplotlib")
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(_is_foreign, list(os.environ)):
            patch.delenv(name)
        if "DOCKER_CONFIG" not in os.environ:  # where the client finds its plugins
            patch.setenv("DOCKER_CONFIG", str(Path("~/.docker").expanduser()))
        patch.setenv(NICE, "0")  # of the lowest priority it would get nowhere beside other tests
        patch.setenv(
            "OPENBLAS_NUM_THREADS", "1"
        )  # more of them wait for each other, since all cores are in use
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_DATA_DIRS", str(home / "share"))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))  # of fixtures that tests share
        patch.setenv("MPLCONFIGDIR", str(fonts))
        # What a shell puts into the background has SIGINT ignored, and so has all that it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with threadpool_limits(1):
            yield


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a test puts into the user's cache from all others; the folder is made by who needs it."""
    number = next(_NUMBERS)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "caches" / str(number)))


@pytest.fixture(autouse=True)
def _alone_on_the_machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no command that a test calls find the runs of other tests, or of whoever works here."""
    monkeypatch.setattr(running, "PROC", tmp_path_factory.getbasetemp() / "no processes")


@pytest.fixture(autouse=True)
def _data_sets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test find the data set it is marked with, where this machine has it; elsewhere it is skipped."""
    for marker in request.node.iter_markers("dataset"):
        (name,) = marker.args
        if (found := FOUND[name]) is None:
            pytest.skip(f"{name} is not on this machine")
        folder = request.getfixturevalue("tmp_path_factory").mktemp("data")
        (folder / name).symlink_to(found)
        monkeypatch.setenv("EDGEFW_DATA", str(folder))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return two workers more than there are cores: many tests wait, those of containers nearly always."""
    return len(os.sched_getaffinity(0)) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests more time, put those in order that are one story, and begin with what takes long."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))
    stories = {item.path for item in items if item.get_closest_marker("in_order")}
    for path in stories:
        places = [place for place, item in enumerate(items) if item.path == path]
        told = sorted((items[place] for place in places), key=lambda item: item.location[1] or 0)
        for place, item in zip(places, told, strict=True):
            items[place] = item
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)  # else the rest waits for it


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run where groups are without effect: tests that share an engine would not take turns."""
    if not session.config.getoption("loadgroup", default=False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
            raise pytest.UsageError(
                f"{item.nodeid} has a group that pytest-xdist did not see: see pyproject.toml"
            )


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Print it after the summary; of several processes only the one that sums up has something to say."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = reporter.stats.get("skipped", [])
    if reasons := [reason for report in skipped if (reason := _needed(report))]:
        listed = "; ".join(sorted(set(reasons)))
        reporter.write_line(
            f"{len(reasons)} tests that need containers were skipped: {listed} "
            f"(docker/host.sh brings what they need, {REQUIRED}=1 makes it an error)",
            yellow=True,
        )


def _needed(report: pytest.TestReport) -> str | None:
    """Return what of containers a skipped test missed, if it was that."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    found = reason.partition(NEEDS)
    return found[2] or None
