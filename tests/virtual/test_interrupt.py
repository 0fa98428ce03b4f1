"""Ctrl-C ends a run on virtual time as it ends any other: with a summary of what was played."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from emulated import SMALL
from waiting import PATIENCE, until

import edgefw
from edgefw.errors import InputError
from edgefw.records import RunFolder
from edgefw.verification.record import read
from edgefw.verification.verdict import verify

if TYPE_CHECKING:
    from pathlib import Path

ENDLESS = {**SMALL, "data.features": 6, "algorithm.horizon": 5000, "algorithm.stop_after": 5000}
ENDLESS |= {"algorithm.sub_iterations": 2, "clock": "wall", "pace": "10s"}


def played(folder: RunFolder) -> bool:
    """Whether some rounds are on record."""
    with suppress(InputError):  # there is no record yet, or no table in it
        return len(folder.rows()) > 20
    return False


def test_ctrl_c_ends_it_with_its_summary(tmp_path: Path) -> None:
    words = [word for key, value in ENDLESS.items() for word in ("--set", f"{key}={value}")]
    command = ["up", "default", "--virtual", *words, "--out", str(tmp_path / "run")]
    folder = RunFolder(tmp_path / "run")
    with subprocess.Popen(
        [sys.executable, "-m", "edgefw", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            until(lambda: process.poll() is not None or played(folder))
            process.send_signal(signal.SIGINT)
            said, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert err.endswith("edgefw: interrupted\n")
    assert "written to" in said.replace("\n", " ")
    verdict = verify(read(folder))
    assert verdict.passed, verdict
    summary = folder.summary()
    assert summary is not None
    assert 4 * summary.rounds <= verdict.plays


def test_a_broker_without_a_journal_cannot_be_asked_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave it out with virtual"):
        edgefw.emulate("default", out=tmp_path / "run", memory=True, virtual=True)
    assert not list(tmp_path.iterdir())
