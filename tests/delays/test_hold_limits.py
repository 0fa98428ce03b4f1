"""A hold without room, and what it held but could not keep."""

from __future__ import annotations

import pytest
from small_holds import DROPS, by_rounds, fault, payload, put, put_in_force, wall

from edgefw.delays.edits import add, enable, reset
from edgefw.delays.hold import Taken
from edgefw.delays.limits import Capacity
from edgefw.errors import WireError


def test_what_is_withdrawn_was_never_there() -> None:
    hold = wall({"type": "latency", "latency": "5s"}, DROPS)
    put(hold, 1)
    for s in (2, 3, 5):  # 3 is dropped
        put(hold, s, now=1.0)
    for s in (3, 5, 2):
        hold.withdraw(0, s, 1.0)
    link = hold.links[0]
    assert (hold.pending, hold.bytes, link.count, link.highest, link.lost) == (1, 6, 1, 1, 0)
    assert hold.submit(0, 2, b"another", 1.0, 2.0).new
    assert [held.round for held in hold.release(99.0)] == [1, 2]


def test_what_was_delivered_and_then_withdrawn_may_be_acknowledged() -> None:
    hold = wall()
    put(hold, 1)
    hold.release(0.0)
    hold.withdraw(0, 1, 0.5)
    assert hold.acknowledge(0, [1]) == []
    put(hold, 1, now=1.0)
    assert hold.acknowledge(0, [1]) == [1]  # its agent has the first copy: no second one is needed
    assert (hold.pending, hold.bytes, hold.release(9.0)) == (0, 0, [])
    with pytest.raises(WireError, match="never delivered"):
        hold.acknowledge(0, [2])


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Capacity(2, 99, 999), "the link of agent 0 is full: 2 feedbacks are pending"),
        (Capacity(99, 4, 999), "the broker is full: 4 feedbacks are pending"),
        (Capacity(99, 99, 29), "the broker is full: 24 bytes are held"),
    ],
)
def test_a_full_broker_refuses_keeps_what_it_has_and_has_room_again_after_a_release(
    limits: Capacity, words: str
) -> None:
    hold = wall({"type": "latency", "latency": "5s"}, limits=limits)
    for s in (1, 2):
        for agent in (0, 1):
            put(hold, s, agent=agent)
    with pytest.raises(WireError, match=words) as refusal:
        put(hold, 3)
    assert refusal.value.reason == "full"
    assert hold.submit(0, 2, payload(0, 2), 1.0, 1.0) == Taken(5.0, dropped=False, new=False)  # as before
    assert (hold.pending, hold.links[0].count) == (4, 2)
    assert len(hold.release(5.0)) == 4
    assert (hold.pending, hold.bytes) == (0, 24)  # they are not pending any more, but still in memory
    hold.acknowledge(0, [1, 2])
    put(hold, 3, now=5.0)
    assert (hold.pending, hold.bytes) == (1, 18)


def test_what_nobody_acknowledges_takes_memory_and_no_other_room() -> None:
    hold = wall(limits=Capacity(1, 1, 12))
    for s in (1, 2):
        put(hold, s)
        hold.release(0.0)
    with pytest.raises(WireError, match="12 bytes are held"):
        put(hold, 3)
    hold.acknowledge(0, [1])
    put(hold, 3)
    assert hold.bytes == 12
    hold.withdraw(0, 2, 0.0)  # released, but not kept
    assert hold.bytes == 6


def test_there_is_room_again_when_feedback_is_dropped_or_withdrawn() -> None:
    hold = wall({"type": "latency", "latency": "5s"}, limits=Capacity(1, 99, 999))
    put(hold, 1)
    with pytest.raises(WireError, match="is full"):
        put(hold, 2)
    hold.withdraw(0, 1, 0.5)
    put(hold, 2)
    drop = add(hold.plan, hold.moment(1.0), None, fault(type="drop", apply_to="pending"), None)
    assert put_in_force(hold, drop, 1.0) == [2]
    put_in_force(hold, reset(hold.plan), 2.0)
    put(hold, 3, now=2.0)
    assert hold.pending == 1


def test_by_rounds_there_is_room_again_when_a_round_has_been_collected() -> None:
    hold = by_rounds({"type": "rounds", "rounds": 2}, limits=Capacity(2, 2, 999))
    put(hold, 1)
    hold.collect(0, 1)
    put(hold, 2)
    with pytest.raises(WireError, match="the link of agent 0 is full"):
        put(hold, 3)
    assert [held.round for held in hold.collect(0, 2).deliveries] == [1]
    put(hold, 3)


def test_what_was_delivered_and_then_withdrawn_is_not_dropped_any_more() -> None:
    hold = wall()
    for s in (1, 2):
        put(hold, s)
    hold.release(0.0)
    put(hold, 3)
    for s in (3, 2, 1):
        hold.withdraw(0, s, 0.5)
    dropping = fault(type="drop", apply_to="pending")
    assert put_in_force(hold, add(hold.plan, hold.moment(1.0), None, dropping, "drop"), 1.0) == []
    for s in (1, 2):  # their agent may have them
        assert not hold.submit(0, s, payload(0, s), 1.0, 2.0).dropped
    assert hold.submit(0, 3, payload(0, 3), 1.0, 2.0).dropped
    assert hold.redue(0, 3.0) == []
    assert [held.round for held in hold.release(3.0)] == [1, 2]


def test_a_copy_may_be_acknowledged_while_nobody_knows_when_the_next_one_is_due() -> None:
    hold = wall()
    put(hold, 1)
    hold.release(0.0)
    hold.withdraw(0, 1, 0.5)
    put_in_force(hold, enable(hold.plan, 0, enabled=False), 1.0)
    put(hold, 1, now=1.0)
    assert hold.acknowledge(0, [1]) == [1]
    link = hold.links[0]
    assert (link.delivered, link.lost, link.dropped(1)) == (1, 0, False)


def test_what_was_acknowledged_and_then_withdrawn_is_not_dropped_any_more() -> None:
    hold = wall()
    put(hold, 1)
    hold.release(0.0)
    assert hold.acknowledge(0, [1]) == [1]
    hold.withdraw(0, 1, 0.5)
    put_in_force(hold, add(hold.plan, hold.moment(1.0), None, fault(type="drop"), "drop"), 1.0)
    assert not hold.submit(0, 1, payload(0, 1), 1.0, 2.0).dropped
