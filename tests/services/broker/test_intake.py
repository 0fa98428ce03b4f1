"""What the broker takes over, and what it has to tell the journal about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bare_broker import RUN_ID, Bare, Told, World
from loopback_broker import scenario
from told_journal import ToldJournal

from edgefw.services.broker.journal import State
from edgefw.v1 import broker_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

LAST = 4
HELD = {"type": "latency", "latency": "1h"}
THIEF = {"type": "drop", "apply_to": "pending", "at": "10s"}  # takes all that is pending after 10 s


@pytest.fixture
def bare() -> Iterator[Bare]:
    world = World()
    made = Bare(world, Told(world))
    made.start(scenario("wall", HELD, THIEF, agents=2, rounds=LAST))
    yield made
    made.close()


def submit(bare: Bare, s: int) -> None:
    request = pb.SubmitRequest(agent=1, round=s, run_id=RUN_ID, payload=b"x", norm=1.0)
    bare.call(bare.broker._intake.take, request)


def state(bare: Bare, s: int) -> State:
    assert isinstance(bare.journal, ToldJournal)
    return next(row.state for row in bare.journal.rows() if (row.agent, row.round) == (1, s))


def dropped(bare: Bare) -> float | None:
    return bare.control.registry.get_sample_value("edgefw_broker_dropped_total", {"agent": "1"})


def test_what_goes_with_the_last_submission_is_dropped_on_disk_too(bare: Bare) -> None:
    submit(bare, 1)
    bare.world.now += 11  # a fault has begun, and no timer has told of it yet
    submit(bare, LAST)
    assert 1 not in bare.hold.links[1].held
    bare.stop(cleanly=True)
    assert (state(bare, 1), state(bare, LAST)) == (State.DROPPED, State.DROPPED)
    assert dropped(bare) == 2


def test_what_goes_when_the_last_submission_is_withdrawn_is_dropped_on_disk_too(bare: Bare) -> None:
    assert isinstance(bare.journal, ToldJournal)
    submit(bare, 1)
    bare.journal.prompt = False
    submit(bare, LAST)
    bare.world.now += 11
    bare.journal.full = True
    bare.call(bare.journal.commit)
    assert bare.hold.links[1].count == 1
    bare.stop(cleanly=True)
    assert state(bare, 1) is State.DROPPED
    assert dropped(bare) == 1
