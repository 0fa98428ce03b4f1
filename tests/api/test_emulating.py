"""Emulating from Python: the real services as processes, started from a program."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from waiting import PATIENCE, until

import edgefw
from edgefw.errors import InputError
from edgefw.records import RunFolder

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(300)  # a network of processes takes its time, on a busy machine
SMALL = {
    "clock": "rounds",
    "pace": "asap",
    "network.agents": 3,
    "data.source": "synthetic",
    "data.samples": 300,
    "data.features": 20,
    "data.classes": 4,
    "algorithm.horizon": 8,
    "delays": [{"type": "rounds", "agents": [1], "rounds": 3}],
}
INTERRUPTED = """
import signal, edgefw
scenario = edgefw.scenario("default", {fields!r})
try:
    edgefw.emulate(scenario, out={out!r}, show=True)
except KeyboardInterrupt as interrupted:
    print(interrupted)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
run = edgefw.load_run({out!r})
print(run.summary.rounds == len(run.loss) > 3)
"""


def test_a_network_is_emulated_where_an_event_loop_is_running(tmp_path: Path) -> None:
    async def notebook() -> edgefw.Run:
        return edgefw.emulate(edgefw.scenario("default", SMALL), out=tmp_path / "run")

    run = asyncio.run(notebook())
    assert (run.summary.mode, run.summary.rounds, run.loss.shape) == ("up", 8, (8, 3))
    np.testing.assert_array_equal(run.delay[:4, 1], 3)
    assert run.regret is not None
    assert run.regret[-1] == pytest.approx([each.regret for each in run.summary.per_agent])
    assert run.total_delay[-1].tolist() == [each.total_delay for each in run.summary.per_agent]
    assert edgefw.load_run(tmp_path / "run").verify().identical == 8 * 3
    simulated = edgefw.simulate(run.scenario)
    np.testing.assert_array_equal(simulated.delay, run.delay)
    np.testing.assert_allclose(simulated.loss, run.loss, rtol=1e-3)


def test_ctrl_c_ends_it_with_its_summary_and_the_program_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    fields = SMALL | {"clock": "wall", "pace": "100ms", "delays": [], "algorithm.horizon": 5000}
    script = INTERRUPTED.format(fields=fields, out=str(out))
    shown = tmp_path / "shown"
    with (
        shown.open("w") as err,
        subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=err, text=True
        ) as program,
    ):
        try:
            until(lambda: "running: round" in shown.read_text() or program.poll() is not None)
            until(lambda: len(RunFolder(out).rows()) > 3 * 3)
            program.send_signal(signal.SIGINT)
            said, _ = program.communicate(timeout=PATIENCE)
        finally:
            program.kill()
    assert "stopping all services" in shown.read_text()
    assert said == f"{out} has the rounds that were played\nTrue\n"
    assert program.returncode == 0


def test_what_cannot_be_emulated_is_refused_before_a_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^precision float64 is for the simulator"):
        edgefw.emulate(edgefw.scenario("default", SMALL | {"precision": "float64"}))
    assert not list(tmp_path.iterdir())
