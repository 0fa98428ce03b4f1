"""Every command about containers finds the project in the one way that Compose does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from told_engine import told_engine

from edgefw.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMANDS = (["status"], ["chaos", "cut", "3"], ["collect"])

each_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])


@pytest.fixture(autouse=True)
def _engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An engine without containers: a command says whose it looked for."""
    with told_engine(tmp_path / "engine") as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.host)
        monkeypatch.delenv("COMPOSE_PROJECT_NAME", raising=False)
        yield


def _looked_for(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.partition("there are no containers of '")[2].partition("'")[0]


@each_command
def test_without_a_word_it_is_the_one_of_the_file(
    capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert _looked_for(capsys, *command) == "edgefw"


@each_command
def test_what_compose_takes_from_the_environment_is_taken(
    capsys: pytest.CaptureFixture[str], command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "mine")
    assert _looked_for(capsys, *command) == "mine"
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "")
    assert _looked_for(capsys, *command) == "edgefw"


@each_command
def test_an_option_says_more_than_the_environment(
    capsys: pytest.CaptureFixture[str], command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "mine")
    assert _looked_for(capsys, *command, "--project", "yours") == "yours"
