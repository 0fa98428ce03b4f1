"""A run in containers under the rounds clock leaves nothing to chance: it plays as one in memory does.

Whoever is killed meanwhile: that is not seen in what is played.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from containers import Project, running
from engine import docker
from waiting import until

from edgefw.records import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.xdist_group("engine"), pytest.mark.slow]

AGENTS, ROUNDS = 5, 200
DELAYS = (
    "{agents: [1], type: rounds, rounds: 7}",
    "{agents: all, type: rounds, rounds: 2, jitter: 2, distribution: uniform, name: some}",
)
FIELDS = (
    "name=by-rounds",
    f"network.agents={AGENTS}",
    "data.source=synthetic",
    "data.samples=500",
    "data.features=20",
    "data.classes=4",
    f"algorithm.horizon={ROUNDS}",
    "algorithm.sub_iterations=6",
    "clock=rounds",
    "resume=continue",
    "pace=100ms",
    f"delays=[{', '.join(DELAYS)}]",
)


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    with running("rounds", FIELDS) as found:
        yield found


def _kill(project: Project, *services: str) -> None:
    """Kill services at once, in the middle of a round, and start them again; wait until all go on."""
    stood, names = project.round(), [f"{project.name}-{service}-1" for service in services]
    docker("kill", *names)
    docker("start", *names)
    until(lambda: project.round() > stood + 3, f"rounds are played after {', '.join(services)} died")


@pytest.fixture(scope="module")
def folder(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run when it is over: in it, some have died, all have died, and all were stopped."""
    until(lambda: project.round() > 3, "it plays")
    for services in (
        ("agent-1", "agent-2"),
        ("broker",),
        ("agent-3", "observer"),
        tuple(project.containers()),
    ):
        _kill(project, *services)
    stood = project.round()
    project.compose("stop")
    project.up("--no-deps")
    until(lambda: project.round() > stood, "the run goes on")
    until(lambda: "the run is over; staying up" in project.compose("logs", "observer"), "the run is over")
    return project.collect(tmp_path_factory.mktemp("rounds"))


def _summary(folder: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


def test_all_rounds_are_played_and_services_stay(project: Project, folder: Path) -> None:
    assert _summary(folder)["rounds"] == ROUNDS
    found = project.status()
    assert {each["state"] for each in found.values()} == {"running"}
    assert {found[f"agent-{agent}"]["learning"]["round"] for agent in range(AGENTS)} == {ROUNDS}


def test_every_play_is_that_of_a_run_in_memory(project: Project, folder: Path) -> None:
    plays = AGENTS * ROUNDS
    told = f"{plays} of {plays} plays are identical, {ROUNDS} rounds were replayed\n"
    assert project.in_image("verify", f"runs/{folder.name}") == told


def test_the_simulator_agrees(project: Project, folder: Path, tmp_path: Path) -> None:
    """On this machine and in the image: delays to the round, losses but for the last digits."""
    ours, scenario = _summary(folder), folder / "scenario.yaml"
    options = ("--no-regret", "--json", "--out")
    here = project.edgefw("simulate", str(scenario), *options, str(tmp_path / "here"), of_project=False)
    there = project.in_image("simulate", f"runs/{folder.name}/scenario.yaml", *options, "/tmp/there")  # noqa: S108
    for simulated in (json.loads(here), json.loads(there)):
        assert simulated["digest"] == ours["digest"]
        assert simulated["rounds"] == ours["rounds"]
        assert simulated["total_delay"] == ours["total_delay"]
        assert simulated["total_loss"] == pytest.approx(ours["total_loss"], rel=1e-3)
    assert _arrivals(RunFolder(tmp_path / "here")) == _arrivals(RunFolder(folder))


def _arrivals(folder: RunFolder) -> dict[tuple[int, int], list[int]]:
    found = {(row.round, row.agent): sorted(row.arrivals) for row in folder.rows()}
    assert len({tuple(arrivals) for arrivals in found.values()}) > ROUNDS, "nobody is late"
    return found
