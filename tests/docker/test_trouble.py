"""Containers paused, cut off and killed on a real engine: alerts name who is gone, and rounds go on after.

What is in trouble stays so until everybody has noticed: by then each connection that it had is dead. Figures
that depend on the machine are printed; what is asserted has ten times the time that it takes.
"""

from __future__ import annotations

import json
import socket
import time
from typing import TYPE_CHECKING

import pytest
from containers import Project, running
from engine import docker
from waiting import until

from edgefw.records import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.xdist_group("engine"), pytest.mark.slow, pytest.mark.in_order]

AGENTS = 5
FIELDS = (
    "name=trouble",
    f"network.agents={AGENTS}",
    "data.source=synthetic",
    "data.samples=500",
    "data.features=20",
    "data.classes=4",
    "algorithm.horizon=5000",  # a quarter of an hour: the best fixed point of more takes a core for minutes
    "algorithm.sub_iterations=4",
    "pace=200ms",
)
FIRING = 'ALERTS{{alertstate="firing", alertname="{}"}}'
LIMIT = 100  # seconds for what takes ten


@pytest.fixture(scope="module")
def run() -> Iterator[Project]:
    with running("trouble", FIELDS, without=()) as found:
        until(lambda: len(found.values("edgefw_agent_round > 0")) == AGENTS, "every agent plays")
        yield found


def _latest(run: Project) -> float:
    return max(run.values("edgefw_agent_round").values(), default=0)


def _recorded(run: Project) -> float:
    return run.values("edgefw_network_round", "job").get("observer", 0)


def _goes_on(run: Project, stood: float) -> float:
    """Wait until all agents play, and the observer records, what comes after a round; return the seconds."""

    def later() -> bool:
        rounds = run.values("edgefw_agent_round")
        return len(rounds) == AGENTS and min(rounds.values()) > stood and _recorded(run) > stood

    try:
        return until(later, f"rounds after {stood:.0f} are played and recorded", LIMIT)
    except AssertionError as error:
        error.add_note(f"played: {run.values('edgefw_agent_round')}, recorded: {_recorded(run)}")
        error.add_note(run.compose("logs", "--no-color", "--timestamps", "--tail", "12"))
        raise


def _named(run: Project, alert: str, label: str) -> set[str]:
    return set(run.values(FIRING.format(alert), label))


def _until_named(run: Project, *services: str) -> float:
    """Wait until Prometheus says that these services, and no others, do not answer; return the seconds."""
    return until(
        lambda: _named(run, "ServiceDown", "instance") == {*services}, f"{services} are named", LIMIT
    )


def _until_well(run: Project) -> None:
    until(lambda: run.query('ALERTS{alertstate="firing", severity="critical"}') == [], "all is well", LIMIT)


def _address_seen(run: Project, who: str, of: str) -> str:
    """Return the address that one service finds another at."""
    ask = f"import socket; print(socket.gethostbyname({of!r}))"
    return run.compose("exec", "-T", who, "python", "-c", ask).strip()


@pytest.mark.parametrize(
    ("trouble", "agents", "mend"), [("cut", "12", "heal"), ("pause", "3", "resume")], ids=["cut", "pause"]
)
def test_agents_that_are_gone_are_named_and_go_on_when_they_are_back(
    run: Project, trouble: str, agents: str, mend: str
) -> None:
    before = run.addresses()
    for agent in agents:
        run.edgefw("chaos", trouble, agent)
    named = _until_named(run, *(f"agent-{i}" for i in agents))
    assert run.refused("chaos", trouble, agents[0])  # once is enough
    until(lambda: _named(run, "AgentStalled", "agent") == set(agents), "they are waited for", LIMIT)
    until(lambda: _named(run, "RunStalled", "severity"), "the run stands", LIMIT)
    assert f"waits for agent {agents[0]} at (t, k)" in run.compose("logs", "--since", "10s")
    stood = _latest(run)
    for agent in reversed(agents):
        run.edgefw("chaos", mend, agent)
    went_on = _goes_on(run, stood)
    print(f"{trouble}: named after {named:.1f} s, the next round {went_on:.1f} s after {mend}")  # noqa: T201
    assert run.addresses() == before
    _until_well(run)


def test_what_was_cut_off_is_found_by_all_its_names_and_finds_its_way_out(run: Project) -> None:
    for name in ("agent-1", f"{run.name}-agent-1-1"):
        assert _address_seen(run, "agent-0", name) == run.addresses()["agent-1"]
    routes = run.compose("exec", "-T", "agent-1", "cat", "/proc/net/route")
    assert routes == run.compose("exec", "-T", "agent-0", "cat", "/proc/net/route")


@pytest.mark.parametrize("pair", [("agent-1", "agent-2"), ("broker", "observer")], ids=" and ".join)
def test_services_that_have_each_others_address_go_on(run: Project, pair: tuple[str, str]) -> None:
    """As when they were taken off the network and put on it in another order, by hand."""
    network, before, stood = f"{run.name}_default", run.addresses(), _latest(run)
    for name in pair:
        docker("network", "disconnect", network, f"{run.name}-{name}-1")
    assert run.refused("chaos", "heal", pair[0]) == (
        f"{pair[0]} is on no network: `docker network connect` puts it on one"
    )
    _until_named(run, *pair)
    stood = max(stood, _latest(run))
    low, high = sorted(pair, key=lambda name: socket.inet_aton(before[name]))
    for name in (high, low):  # the engine gives the lowest address that is free
        docker("network", "connect", "--alias", name, network, f"{run.name}-{name}-1")
    after = run.addresses()
    assert (after[low], after[high]) == (before[high], before[low])
    print(f"{' and '.join(pair)}: the next round {_goes_on(run, stood):.1f} s after the swap")  # noqa: T201
    _until_well(run)


def test_a_broker_that_was_cut_off_delivers_again(run: Project) -> None:
    run.edgefw("chaos", "cut", "broker")
    named = until(lambda: _named(run, "BrokerMissing", "alertname"), "the broker is missing", LIMIT)
    until(lambda: _named(run, "RunStalled", "severity"), "the run stands", LIMIT)
    stood = _latest(run)
    run.edgefw("chaos", "heal", "broker")
    print(f"broker: named after {named:.1f} s, the next round {_goes_on(run, stood):.1f} s after heal")  # noqa: T201
    _until_well(run)


def test_what_is_played_while_the_observer_is_cut_off_is_recorded_after(run: Project) -> None:
    stood = _recorded(run)
    run.edgefw("chaos", "cut", "observer")
    _until_named(run, "observer")
    until(lambda: _latest(run) > stood + 30, "rounds are played meanwhile", LIMIT)
    latest = _latest(run)
    run.edgefw("chaos", "heal", "observer")
    print(f"{latest - stood:.0f} rounds are recorded {_goes_on(run, latest):.1f} s after heal")  # noqa: T201
    _until_well(run)


def test_an_agent_that_is_killed_is_named_and_goes_on_when_it_is_back(run: Project) -> None:
    run.edgefw("chaos", "down", "4")
    begin = time.monotonic()
    until(lambda: _named(run, "AgentMissing", "agent") == {"4"}, "the observer misses it", LIMIT)
    missed = time.monotonic() - begin
    _until_named(run, "agent-4")
    print(f"kill: missed after {missed:.1f} s, down after {time.monotonic() - begin:.1f} s")  # noqa: T201
    until(lambda: _named(run, "AgentStalled", "agent") == {"4"}, "its neighbours wait for it", LIMIT)
    assert run.refused("chaos", "cut", "4").startswith("agent-4 is down: `edgefw chaos resume agent-4")
    stood = _latest(run)
    run.edgefw("chaos", "resume", "4")
    print(f"kill: the next round {_goes_on(run, stood):.1f} s after it is started again")  # noqa: T201
    _until_well(run)


def test_every_round_is_in_the_record_and_is_what_the_algorithm_plays(run: Project, tmp_path: Path) -> None:
    """The last of this story: it ends the run."""
    recorded = _recorded(run)
    run.compose("stop")
    folder = run.collect(tmp_path)
    last = json.loads((folder / "summary.json").read_text())["rounds"]
    assert last >= recorded > 0
    rows = {(row.round, row.agent) for row in RunFolder(folder).rows()}
    assert {(t, i) for t in range(1, last + 1) for i in range(AGENTS)} <= rows
    whole = f"{AGENTS * last} of {AGENTS * last} plays are identical"
    assert whole in run.in_image("verify", f"runs/{folder.name}")
