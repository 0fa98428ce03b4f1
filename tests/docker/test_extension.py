"""The worked example of an algorithm of one's own, in containers, as docs/extending.md tells a reader to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from engine import ROOT
from shell import Terminal, copy_repository, replaced
from typed import blocks
from waiting import until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.newcomer, pytest.mark.slow]
PLAYS = 6 * 200  # of all agents in all rounds of examples/momentum/momentum.yaml


def test_the_commands_of_the_page_run_it_and_verify_agrees(tmp_path: Path) -> None:
    copy_repository(tmp_path)
    package = tmp_path / "examples" / "momentum"
    terminal, here = Terminal.for_containers(tmp_path, "extension", PYTHONPATH=str(package))
    begin, end = (block for block in blocks(ROOT / "docs" / "extending.md") if block.how == "containers")
    stop, collect, verify, down = (replaced(command, here) for command in end.commands)
    try:
        for command in begin.commands:
            terminal.type(replaced(command, here))
        logs = "docker compose -f momentum.yaml logs observer"
        until(lambda: "the run is over; staying up" in terminal.type(logs), "the run is over")
        terminal.type(stop)
        assert "is there" in terminal.type(collect)
        said = terminal.type(verify)
    finally:
        terminal.type(down)
    assert said.startswith(f"{PLAYS} of {PLAYS} plays are identical, 200 rounds were replayed")
