"""Runs that go on on this machine are found by the command lines of their processes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from edgefw.cli import main
from edgefw.commands import delay as command
from edgefw.commands import status as status_command
from edgefw.containers.engine import EngineError
from edgefw.local.ports import loopback_places
from edgefw.local.processes import processes
from edgefw.local.running import Running, running
from edgefw.local.status import status, usage

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.local.ports import Places


def _stand(proc: Path, pid: int, *words: str) -> None:
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in words))


def _run(proc: Path, first: int, folder: Path, places: Places) -> None:
    """Let the processes of a run be there, as `edgefw up` starts them."""
    found = processes(folder, places, stay=True)
    for pid, service in enumerate((found.observer, found.broker, *found.agents), start=first):
        _stand(proc, pid, *service.arguments)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Two runs of two agents, beside processes that are none of a run."""
    proc = tmp_path / "proc"
    _stand(proc, 1, "init")
    _stand(proc, 2, "python", "-m", "edgefw", "up", "default")
    _stand(proc, 3, "python", "-m", "edgefw", "observer", "--listen", "0.0.0.0:9", "--out", "in a container")
    (proc / "4").mkdir()  # it has ended between two looks
    with loopback_places(2, None) as one, loopback_places(2) as other:
        _run(proc, 10, tmp_path / "runs" / "one", one)
        _run(proc, 20, tmp_path / "runs" / "other", other)
    return proc


def test_runs_are_found_with_their_services_and_their_admin_endpoint(proc: Path, tmp_path: Path) -> None:
    one, other = running(proc)
    assert (one.folder, other.folder) == (tmp_path / "runs" / "one", tmp_path / "runs" / "other")
    assert [service.name for service in one.services] == ["observer", "broker", "agent-0", "agent-1"]
    assert [service.pid for service in other.services] == [20, 21, 22, 23]
    assert one.admin
    assert other.admin
    assert one.admin != other.admin


def test_a_service_that_has_ended_or_does_not_answer_is_shown_as_it_is(proc: Path) -> None:
    one, _ = running(proc)
    fields = ["R", *["0"] * 10, "150", "50", *["0"] * 8, "3", "0"]
    (proc / "10" / "stat").write_text(f"10 (a (name) R) {' '.join(fields)}")
    (proc / "12" / "stat").write_text(f"12 (python) T {' '.join(fields[1:])}")
    observer, broker, paused, _ = status(one, proc, look=0.0001)
    assert (observer.state, observer.health, observer.cpu) == ("running", "no answer", 0.0)
    assert observer.memory == 3 * os.sysconf("SC_PAGE_SIZE")
    assert (broker.state, broker.health, broker.cpu, broker.memory) == ("ended", None, None, None)
    assert paused.state == "paused"
    assert {each.run for each in (observer, broker)} == {str(one.folder)}


def test_what_this_process_uses_is_what_the_system_says() -> None:
    found = usage(os.getpid())
    assert found is not None
    assert 0 < found.seconds < 1e5
    assert 1e6 < found.memory < 1e11


def test_the_command_that_speaks_to_another_run_is_said_in_full(
    proc: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = running(proc)
    found: list[Running] = [one, other]
    monkeypatch.setattr(command, "running", lambda: found)
    monkeypatch.delenv("EDGEFW_ADMIN", raising=False)
    monkeypatch.setenv("EDGEFW_ADMIN_PORT", "9")  # nobody listens there
    assert main(["delay", "set", "3", "750ms", "--name", "a b"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    for run in found:
        assert (
            f"run {run.folder.name} goes on too: edgefw delay set 3 750ms --name 'a b' --admin {run.admin}"
            in said
        )
    assert main(["delay", "ls", "--admin", "127.0.0.1:9"]) == 1  # it was told where
    assert "goes on too" not in capsys.readouterr().err


def test_where_nothing_runs_it_is_said_of_both(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_engine(_project: str) -> None:
        raise EngineError("cannot reach the Docker engine")

    monkeypatch.delenv("COMPOSE_PROJECT_NAME", raising=False)
    monkeypatch.setattr(status_command, "running", list)
    monkeypatch.setattr(status_command, "Containers", no_engine)
    assert main(["status"]) == 1
    said = "edgefw: no run of `edgefw up` goes on on this machine, and cannot reach the Docker engine\n"
    assert capsys.readouterr().err == said
