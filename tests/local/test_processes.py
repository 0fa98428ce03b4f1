"""The command lines of a run's services are ones that the command line takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from edgefw.cli import make_parser
from edgefw.local.ports import Places
from edgefw.local.processes import processes
from edgefw.services.config import Place

if TYPE_CHECKING:
    from pathlib import Path

PLACES = Places(
    Place("127.0.0.1", 1, 2),
    Place("127.0.0.1", 3, 4),
    tuple(Place("127.0.0.1", 10 + 2 * i, 11 + 2 * i) for i in range(3)),
    5,
)


def read(arguments: tuple[str, ...]) -> Any:
    return make_parser().parse_args(arguments[3:])  # after: python -m edgefw


@pytest.mark.parametrize("stay", [False, True])
def test_services_are_told_where_to_listen_and_whom_to_join(tmp_path: Path, stay: bool) -> None:  # noqa: FBT001
    services = processes(tmp_path, PLACES, stay=stay)
    observer = read(services.observer.arguments)
    assert (observer.scenario, observer.out) == (str(tmp_path / "scenario.yaml"), tmp_path)
    assert (observer.listen, observer.metrics_port, observer.stay) == (("127.0.0.1", 3), 4, stay)
    broker = read(services.broker.arguments)
    assert (broker.join, broker.listen, broker.admin) == ("127.0.0.1:3", ("127.0.0.1", 1), ("127.0.0.1", 5))
    assert (broker.journal, broker.memory) == (str(tmp_path / "journal.sqlite"), False)
    for i, command in enumerate(services.agents):
        agent = read(command.arguments)
        assert (agent.agent, agent.join, agent.stay) == (i, "127.0.0.1:3", stay)
        assert (agent.listen, agent.metrics_port) == (("127.0.0.1", 10 + 2 * i), 11 + 2 * i)
        assert command.address == f"127.0.0.1:{10 + 2 * i}"


def test_only_the_broker_always_runs_until_it_is_stopped(tmp_path: Path) -> None:
    services = processes(tmp_path, PLACES, stay=False)
    assert [each.lasting for each in (services.observer, services.broker, *services.agents)] == [
        *(False, True),
        *(False, False, False),
    ]
    staying = processes(tmp_path, PLACES, stay=True)
    assert all(each.lasting for each in (staying.observer, staying.broker, *staying.agents))


def test_a_throw_away_run_has_no_journal(tmp_path: Path) -> None:
    broker = read(processes(tmp_path, PLACES, stay=False, memory=True).broker.arguments)
    assert (broker.journal, broker.memory) == (None, True)


@pytest.mark.parametrize(
    ("words", "mistake"),
    [
        ("broker --listen 127.0.0.1:1 --memory", "one of the arguments --join --scenario is required"),
        ("broker --join h:1 --listen h:1", "one of the arguments --journal --memory is required"),
        ("broker --join h:1 --scenario s --listen h:1 --memory", "not allowed with argument"),
        ("observer --listen h:1", "one of the arguments --out --runs is required"),
        ("agent --agent 1 --listen h:1", "the following arguments are required: --join"),
        ("agent --agent 1 --join h:1 --listen nowhere", "'nowhere' is not HOST:PORT"),
        ("agent --agent 1 --join h:1 --listen h:70000", "'h:70000' is not HOST:PORT"),
        ("agent --agent one --join h:1 --listen h:1", "invalid int value: 'one'"),
    ],
)
def test_what_a_service_cannot_start_with_is_one_line(
    words: str, mistake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        make_parser().parse_args(words.split())
    (line,) = capsys.readouterr().err.splitlines()
    assert mistake in line
