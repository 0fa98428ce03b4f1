"""The committed compose.yaml on a real engine: it starts, can be watched and troubled, ends, begins anew.

One run is taken through its life, test by test: those that stop it come after those that watch it.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from containers import Project
from dashboards import dashboards, marks, queries
from engine import docker
from waiting import until

from edgefw.containers.compose import image
from edgefw.core.account import Kind
from edgefw.records import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.alone, pytest.mark.slow, pytest.mark.in_order]  # its containers fill the machine

AGENTS = 8
SLOW = {"name": "slow", "type": "latency", "attributes": {"latency": "3s"}}  # many rounds, also of slow ones
DELAY, DEPTH = "edgefw_agent_feedback_delay_rounds", 'edgefw_broker_queue_depth{state="pending"}'
ASKED = "edgefw_broker_requested_delay_seconds"
MISSING = "edgefw_agent_oldest_feedback_age_rounds"
PANELS = [
    pytest.param(query, id=f"{panel['title']}-{number}")
    for board in dashboards().values()
    for number, (panel, query) in enumerate(queries(board))
]
ANNOTATIONS = [
    pytest.param(query, id=name) for board in dashboards().values() for name, query in marks(board)
]


@pytest.fixture(scope="module")
def run() -> Iterator[Project]:
    """The playground, healthy."""
    project = Project("run")
    project.build()
    try:
        project.up()
        yield project
    finally:
        project.down()


def _least_round(run: Project) -> float:
    return min(run.values("edgefw_agent_round").values())


def test_it_is_healthy_within_a_minute(run: Project) -> None:
    print(f"healthy after {run.seconds:.1f} s")  # noqa: T201 - a figure to look at
    assert run.seconds < 120, "it should take a third of that"
    states = {name: each["State"]["Health"]["Status"] for name, each in run.containers().items()}
    assert set(states.values()) == {"healthy"}
    assert len(states) >= AGENTS + 3


def test_rounds_advance_on_all_agents(run: Project) -> None:
    until(lambda: len(run.values("edgefw_agent_round > 0")) == AGENTS, "every agent plays")
    before = run.status()
    after = run.status()
    for agent in (f"agent-{i}" for i in range(AGENTS)):
        assert after[agent]["learning"]["round"] > before[agent]["learning"]["round"] >= 1


def test_status_says_how_every_container_is_and_what_it_uses(run: Project) -> None:
    for each in run.status().values():
        assert (each["state"], each["health"]) == ("running", "healthy")
        assert each["cpu"] >= 0
        assert 1e6 < each["memory"] < 2e9


def test_every_target_is_up(run: Project) -> None:
    services = {"observer", "broker", *(f"agent-{i}" for i in range(AGENTS))}
    until(lambda: run.values("up", "instance") == dict.fromkeys(services, 1), "every target is up")


def test_prometheus_finds_nothing_wrong_with_the_metrics(run: Project) -> None:
    everyones = run.metrics()
    assert len(everyones) == AGENTS + 2
    for place, metrics in everyones.items():
        said = run.compose("exec", "-T", "prometheus", "/bin/promtool", "check", "metrics", text=metrics)
        assert said == "", place


def test_a_delay_shows_on_its_agent_alone_and_goes_again(run: Project) -> None:
    until(lambda: run.values(DELAY).get("3") == 1, "nobody is late")
    run.admin("POST", "/links/3/faults", SLOW)
    shown = until(lambda: run.values(DELAY)["3"] > 2 and run.values(DEPTH)["3"] > 1, "agent 3 is late")
    time.sleep(4)  # so that there is something to take the mean of
    delays, depths, asked = (run.values(f"avg_over_time({what}[3s])") for what in (DELAY, DEPTH, ASKED))
    run.admin("DELETE", "/links/3/faults/slow")
    gone = until(lambda: run.values(DELAY)["3"] == 1 and run.values(DEPTH)["3"] == 0, "agent 3 is back")
    print(f"3 s show after {shown:.1f} s, and are gone after {gone:.1f} s")  # noqa: T201
    late = delays.pop("3")
    assert late >= 3
    assert depths.pop("3") >= 2
    assert asked.pop("3") == pytest.approx(3)
    assert len(delays) == len(depths) == len(asked) == AGENTS - 1
    assert set(asked.values()) == {0}, "others are asked to be late"
    assert max(delays.values()) < late - 1, "others are late"  # a busy machine makes everybody a little late
    assert max(depths.values()) < 1, "others' feedback is held"


def test_what_was_changed_in_the_plan_is_told_with_its_time(run: Project) -> None:
    changed = "edgefw_broker_plan_changed_timestamp_seconds"
    before, now = (
        run.values(f"{changed} - time()", "what"),
        run.values(f'{changed}{{fault="latency"}}', "agent"),
    )
    assert now.keys() == {"3"}
    assert before.keys() == {"add", "remove"}
    assert -120 < before["add"] < before["remove"] <= 0


def test_the_pace_is_reached(run: Project) -> None:
    assert run.values("edgefw_network_pace_asked_seconds", "job") == {"observer": 0.25}
    assert run.values("edgefw_network_pace_reached_seconds", "job")["observer"] > 0.2


def test_a_blackout_shows_for_as_long_as_it_lasts(run: Project) -> None:
    run.admin("PATCH", "/links/4", {"enabled": False})
    until(lambda: run.values(MISSING)["4"] > 12, "what is missing grows older")
    assert run.values(DELAY)["4"] < 12, "it is told by what has come"
    assert max(age for agent, age in run.values(MISSING).items() if agent != "4") < 12
    run.admin("PATCH", "/links/4", {"enabled": True})
    until(lambda: run.values(MISSING)["4"] <= 1, "nothing is missing")


@pytest.mark.parametrize("query", [*PANELS, *ANNOTATIONS])
def test_every_query_of_the_dashboards_finds_data(run: Project, query: str) -> None:
    """After the delay of the test before: a panel that stays empty would be empty for a newcomer.

    Regret is the last to come, with the certificate of the best fixed point.
    """

    def found() -> list[float]:
        series = run.history(query, 300)
        values = [float(value) for each in series for _, value in each["values"]]
        return [value for value in values if not math.isnan(value)]

    until(lambda: found() != [], f"{query} finds data", 120)


def test_trouble_that_makes_no_sense_is_refused(run: Project) -> None:
    said, _, there = run.refused("chaos", "pause", "9").partition(": there are ")
    assert said == f"there is no 'agent-9' in '{run.name}'"
    assert {*there.split(", ")} == run.containers().keys()
    assert run.refused("chaos", "heal", "3") == "agent-3 is connected: there is nothing to heal"
    assert run.refused("chaos", "resume", "3") == "agent-3 runs already: there is nothing to resume"


def test_a_broker_that_is_killed_loses_nothing(run: Project) -> None:
    run.admin("POST", "/links/5/faults", {"name": "late", "type": "latency", "attributes": {"latency": "3s"}})
    until(lambda: run.values(DEPTH)["5"] >= 8, "feedback is held")
    run.edgefw("chaos", "down", "broker")
    assert run.containers()["broker"]["State"]["ExitCode"] == 137
    stood = _least_round(run)
    run.edgefw("chaos", "resume", "broker")
    until(lambda: _least_round(run) > stood + 12, "rounds go on")
    log = run.compose("logs", "--since", "120s", "broker")
    assert "pending feedbacks" in log, "it knew of what it held"
    assert [fault["name"] for fault in run.admin("GET", "/plan")["faults"]] == ["late"]
    run.admin("DELETE", "/links/5/faults/late")
    until(lambda: run.values("edgefw_agent_feedback_outstanding")["5"] <= 2, "what was held comes")


def test_grafana_has_the_dashboard(run: Project) -> None:
    if "grafana" not in run.containers():
        pytest.skip("the image of Grafana is not here")
    (uid,) = (board["uid"] for board in dashboards().values())
    until(lambda: run.grafana("/api/health").json()["database"] == "ok", "Grafana is up")
    assert run.grafana(f"/api/dashboards/uid/{uid}").json()["meta"]["provisioned"] is True


@dataclass(frozen=True)
class Ended:
    """A run that `docker compose stop` has ended."""

    project: Project
    seconds: float
    folder: Path  # of the run, on this machine
    last_plan: Any


@pytest.fixture(scope="module")
def ended(run: Project, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """The run, stopped while a delay is in force and feedback is held."""
    run.admin("POST", "/links/6/faults", {"name": "old", "type": "latency", "attributes": {"latency": "60s"}})
    until(lambda: run.values(DEPTH)["6"] >= 8, "feedback is held")
    plan = run.admin("GET", "/plan")
    begin = time.monotonic()
    run.compose("stop")
    seconds = time.monotonic() - begin
    return Ended(run, seconds, run.collect(tmp_path_factory.mktemp("collected")), plan)


def test_every_container_ends_well_and_in_time(ended: Ended) -> None:
    print(f"stopped after {ended.seconds:.1f} s")  # noqa: T201
    states = {name: each["State"] for name, each in ended.project.containers().items()}
    assert {name: state["ExitCode"] for name, state in states.items()} == dict.fromkeys(states, 0)
    assert not any(state["OOMKilled"] for state in states.values())
    assert ended.seconds < 40, "nobody needs its whole grace"


def test_every_volume_has_been_written_to(ended: Ended) -> None:
    mounts = [mount for each in ended.project.containers().values() for mount in each["Mounts"]]
    volumes = {mount["Name"] for mount in mounts if mount["Type"] == "volume"}
    given = [word for volume in volumes for word in ("--volume", f"{volume}:/look/{volume}:ro")]
    listed = docker(
        "run", "--rm", "--user", "0", *given, "--entrypoint", "find", image(), "/look", "-type", "f"
    )
    assert {path.split("/")[2] for path in listed.split()} == volumes


def test_the_summary_is_written(ended: Ended) -> None:
    summary = json.loads((ended.folder / "summary.json").read_text())
    assert summary["agents"] == AGENTS
    assert 30 < summary["rounds"] < 8000
    assert summary["rounds"] == max(row.round for row in RunFolder(ended.folder).rows())
    assert summary["network_regret"] is not None
    assert summary["unused"] >= 8


def test_the_record_has_the_logs_of_all_and_who_changed_the_plan(ended: Ended) -> None:
    logs = {path.stem: path.read_text() for path in (ended.folder / "logs").iterdir()}
    assert logs.keys() == ended.project.containers().keys()
    assert all(logs[f"agent-{i}"] for i in range(AGENTS))
    account = RunFolder(ended.folder).account()
    plans = [entry for entry in account if entry.kind is Kind.PLAN and entry.who != "broker"]
    assert any("agent 6: " in (entry.what or "") and " at " in (entry.who or "") for entry in plans)
    assert json.loads(RunFolder(ended.folder).meta()["plan"]) == []


def test_a_run_that_is_not_there_and_a_folder_that_is_are_refused(ended: Ended) -> None:
    name, out = ended.folder.name, str(ended.folder.parent)
    assert ended.project.refused("collect", "nix", "--out", out) == f"there is no run 'nix': there are {name}"
    assert ended.project.refused("collect", name, "--out", out).startswith(f"{ended.folder} exists already: ")


def test_every_feedback_was_used_once(ended: Ended) -> None:
    rows = RunFolder(ended.folder).rows()
    last = max(row.round for row in rows)
    for agent in range(AGENTS):
        used = Counter(round_ for row in rows if row.agent == agent for round_ in row.arrivals)
        assert set(used.values()) == {1}
        missing = set(range(1, last)) - used.keys()
        assert agent == 6 or len(missing) <= 4, f"agent {agent} never got {sorted(missing)}"


def test_the_run_is_what_the_algorithm_plays(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = json.loads((ended.folder / "summary.json").read_text())["rounds"]
    whole = f"{AGENTS * rounds} of {AGENTS * rounds} plays are identical, {rounds} rounds were replayed"
    assert whole in ended.project.in_image("verify", f"runs/{ended.folder.name}")
    monkeypatch.setenv("EDGEFW_DATA", str(ended.project.data_sets(tmp_path)))
    said = ended.project.edgefw("verify", str(ended.folder), of_project=False, codes=(0, 3))
    assert whole in said or "cumulative losses agree within" in said  # another build has other last bits


@pytest.fixture(scope="module")
def again(ended: Ended) -> Ended:
    """The project after `docker compose up` once more, whoever comes first."""
    ended.project.up("--no-deps")
    return ended


def _runs(project: Project) -> list[str]:
    return project.compose("exec", "-T", "observer", "ls", "/var/lib/edgefw/runs").split()


def test_up_again_starts_anew(again: Ended, tmp_path: Path) -> None:
    until(lambda: _least_round(again.project) >= 4, "it plays")
    first, second = _runs(again.project)
    assert again.folder.name == first
    found: list[RunFolder] = []

    def recorded() -> bool:  # what is played is on disk a moment later
        found.append(RunFolder(again.project.collect(tmp_path / str(len(found)))))
        return len(found[-1].rows()) >= AGENTS

    until(recorded, "the first round is recorded")
    assert found[-1].path.name == second
    rows = found[-1].rows()
    assert {row.round for row in rows[:AGENTS]} == {1}
    assert max(row.round for row in rows) < min(500, max(row.round for row in RunFolder(again.folder).rows()))


def test_nothing_of_the_old_journal_is_left(again: Ended) -> None:
    assert [fault["name"] for fault in again.last_plan["faults"]] == ["old"]
    assert again.project.admin("GET", "/plan")["faults"] == []
    link = again.project.admin("GET", "/links/6")
    assert link["pending"] <= 2
    assert link["accepted"] < 1000


@pytest.mark.parametrize("service", ["observer", "agent-2"])
def test_whoever_is_killed_goes_on_with_the_run(again: Ended, service: str) -> None:
    project = again.project
    until(lambda: _scored(project) >= 12, "it plays")
    before, scored = _runs(project), _scored(project)
    project.edgefw("chaos", "kill", service)
    until(lambda: _scored(project) > scored + 12, "it records what comes after")
    assert _runs(project) == before
    assert "going on" in project.compose("logs", "--since", "120s", service)


def test_an_agent_that_has_lost_the_run_starts_it_anew_for_all(again: Ended, tmp_path: Path) -> None:
    project = again.project
    until(lambda: _scored(project) >= 12, "it plays")
    before = _runs(project)
    project.compose("exec", "-T", "agent-2", "rm", "-r", "/var/lib/edgefw/agent-2")
    project.edgefw("chaos", "kill", "agent-2")
    until(lambda: 3 <= _scored(project) < 12, "everyone plays from the beginning")
    (new,) = set(_runs(project)) - set(before)
    rows = RunFolder(project.collect(tmp_path, new)).rows()
    assert [(row.round, row.agent) for row in rows[:AGENTS]] == [(1, agent) for agent in range(AGENTS)]


def _scored(project: Project) -> float:
    return project.values("edgefw_network_round", "job").get("observer", 0)
