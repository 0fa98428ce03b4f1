"""Who is there, who is away and since when, and where Prometheus looks for them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from edgefw.services.observer.attendance import BROKER, Attendance


@dataclass
class Clock:
    """A clock that is set by hand."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_who_has_not_come_is_away_since_the_beginning() -> None:
    clock = Clock()
    attendance = Attendance(2, clock)
    clock.now += 7
    assert [attendance.away(who) for who in attendance.everyone] == [7, 7, 7]


def test_a_member_is_there_for_the_length_of_a_call_and_away_since_its_end() -> None:
    clock = Clock()
    attendance = Attendance(2, clock)
    clock.now += 7
    with attendance.call(1):
        clock.now += 5
        assert [attendance.away(who) for who in (BROKER, 0, 1)] == [12, 12, 0]
    clock.now += 3
    assert [attendance.away(who) for who in (BROKER, 0, 1)] == [15, 15, 3]


@given(st.lists(st.tuples(st.booleans(), st.floats(0.125, 10)), max_size=20))
def test_a_member_with_several_calls_is_away_when_the_last_has_ended(steps: list[tuple[bool, float]]) -> None:
    clock, calls = Clock(), list[ExitStack]()
    attendance, ended = Attendance(1, clock), clock.now
    for begins, seconds in steps:
        if begins:
            calls.append(ExitStack())
            calls[-1].enter_context(attendance.call(0))
        elif calls:
            calls.pop(0).close()
            ended = clock.now
        clock.now += seconds
        assert attendance.away(0) == (0 if calls else clock.now - ended)


def test_whoever_has_come_stays_a_target_where_it_was_last() -> None:
    attendance = Attendance(2, Clock())
    with attendance.call(1):
        attendance.found_at(1, "agent-1:9464")
    attendance.found_at(BROKER, "broker:9464")
    attendance.found_at(1, "elsewhere:9464")
    assert attendance.targets() == [
        {"targets": ["elsewhere:9464"], "labels": {"job": "agent"}},
        {"targets": ["broker:9464"], "labels": {"job": "broker"}},
    ]
