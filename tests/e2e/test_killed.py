"""`edgefw up` while services are killed: what comes of it is what comes of a run that nobody disturbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from together import run_together
from waiting import until

from edgefw.records import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from emulated import Emulated

    Start = Callable[..., Emulated]

pytestmark = pytest.mark.timeout(300)  # a network of processes takes its time, on a busy machine
FIELDS = {
    "delays": "[{type: rounds, rounds: 3, jitter: 2}]",
    "algorithm.horizon": 600,
    "algorithm.stop_after": 300,
    "algorithm.sub_iterations": 3,
}
OF_TIME = {"wall_seconds", "pace_reached", "messages", "bytes", "wire_bytes"}
AGENTS = ("agent-0", "agent-1", "agent-2", "agent-3")
KILLS = (
    ("agent-2",),
    ("agent-0", "agent-1"),  # neighbours
    ("broker",),
    AGENTS,
    ("observer", "broker", *AGENTS),
    ("observer", "agent-1"),
    ("observer",),
)


def test_whoever_is_killed_rejoins_and_the_run_is_as_if_nothing_had_been(
    start: Start, tmp_path: Path
) -> None:
    run = start(fields=FIELDS)
    run.started()
    for number, names in enumerate(KILLS):
        _kill(run, names, number)
    run.run()
    assert not (run.path / "checkpoints").exists()
    undisturbed = run_together(tmp_path / "undisturbed", fields=FIELDS)
    assert _without_time(RunFolder(run.path)) == _without_time(undisturbed)
    assert run.rows() == undisturbed.rows()
    assert "1200 of 1200 plays are identical" in run.edgefw("verify", str(run.path))


def _kill(run: Emulated, names: Sequence[str], number: int) -> None:
    """Kill services at once, later than those of smaller numbers; return when there are others of them."""
    until(lambda: len(run.rows()) > 4 * 20 * number, f"rounds go on after {number} kills")
    before = run.err().count("is started again")
    for service in [run.service(name) for name in names]:
        service.kill()
    until(lambda: run.err().count("is started again") == before + len(names), "they are started again")


def _without_time(folder: RunFolder) -> dict[str, Any]:
    summary = folder.summary()
    assert summary is not None
    return {field: value for field, value in vars(summary).items() if field not in OF_TIME}
