"""Every command of README and tutorial, as it stands, in a copy of the repository with its own environment.

`make newcomer` runs it: it installs, so it takes minutes and needs a package index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from engine import ROOT
from shell import LONGEST, Terminal, copy_repository, replaced
from typed import ELSEWHERE, Session, blocks, sessions
from waiting import until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.newcomer, pytest.mark.timeout(1800)]
PAGES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]
FIRST = "make up"  # what both begin with: it installs


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what is to be committed, after the first command of a newcomer."""
    folder = tmp_path_factory.mktemp("newcomer") / "edgefw"
    copy_repository(folder)
    Terminal(folder).type(FIRST)
    return folder


def test_what_is_typed_elsewhere_is_typed() -> None:
    for command, where in ELSEWHERE.items():
        assert f"\n{command}\n" in (ROOT / where).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_as_they_stand(copy: Path, page: Path) -> None:
    terminal = Terminal(copy)
    assert not terminal.answers(), "a run listens on this machine: end it first"
    first, *found = sessions(block for block in blocks(page) if block.how != "containers")
    assert first.command == FIRST
    assert found
    for session in found:
        _play(terminal, session)


def _play(terminal: Terminal, session: Session) -> None:
    """Type a command, and in another terminal what goes with it."""
    for name, text in session.files.items():
        terminal.save(name, text)
    running = terminal.begin(session.command)
    if session.meanwhile:
        until(lambda: terminal.answers() or running.poll() is not None, "it runs", LONGEST)
    for command in session.meanwhile:
        terminal.type(command)
    terminal.wait(running, session.command)


def test_the_commands_for_containers_work_too(copy: Path) -> None:
    terminal, here = Terminal.for_containers(copy, "newcomer")
    try:
        for block in (block for page in PAGES for block in blocks(page) if block.how == "containers"):
            for command in block.commands:
                terminal.type(replaced(command, here))
    finally:
        terminal.type("docker compose down --volumes --timeout 1")
