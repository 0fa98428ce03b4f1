"""Runs whose broker has next to no room: agents wait for it, nobody for ever, and the plays are the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from emulated import Emulated

    Start = Callable[..., Emulated]

pytestmark = pytest.mark.timeout(300)  # a network of processes takes its time, on a busy machine


def test_by_the_wall_clock_agents_wait_for_room_and_go_on(start: Start) -> None:
    fields = {
        "clock": "wall",
        "pace": "5ms",
        "delays": "[{type: latency, latency: 80ms}]",
        "limits": "{link: 1, all: 3}",
        "algorithm.stop_after": 25,
    }
    run = start(fields=fields)
    run.run()
    assert run.summary()["rounds"] == 25
    assert "100 of 100 plays are identical" in run.edgefw("verify", str(run.path))
    assert "is full" in run.log("broker")
    assert re.search(r"to submit: RESOURCE_EXHAUSTED", run.log("agent-0"))


def test_by_rounds_the_least_room_that_is_allowed_is_enough(start: Start) -> None:
    late = {"delays": "[{type: rounds, rounds: 4}]"}
    tight = start(fields={**late, "limits": "{link: 5, all: 20}"})
    tight.run()
    ours, simulated = tight.summary(), tight.simulated()
    assert ours["total_loss"] == pytest.approx(simulated["total_loss"], rel=1e-3)
    assert ours["total_delay"] == simulated["total_delay"]
    assert "is full" not in tight.log("broker")


@pytest.mark.parametrize("limits", ["{link: 4}", "{all: 19}"])
def test_by_rounds_less_room_than_that_is_refused_at_the_start(start: Start, limits: str) -> None:
    run = start(fields={"delays": "[{type: rounds, rounds: 4}]", "limits": limits})
    assert run.end() != 0
    assert "delays reach 4 rounds: at least" in run.err()
    assert "Traceback" not in run.err()
