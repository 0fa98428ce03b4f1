"""Room for so many connections."""

from __future__ import annotations

from edgefw.http.room import Room


class Line:
    def __init__(self) -> None:
        self.over = False

    def abort(self) -> None:
        self.over = True


def test_who_idles_longest_gives_way_and_who_is_answered_last_of_all() -> None:
    room: Room[Line] = Room(3)
    lines = [Line() for _ in range(7)]
    for line in lines[:3]:
        room.enter(line)
    room.mark(lines[0], busy=True)
    room.enter(lines[3])
    assert [line.over for line in lines[:4]] == [False, True, False, False]
    for line in lines[2:4]:
        room.mark(line, busy=True)
    room.enter(lines[4])
    assert (lines[0].over, len(room)) == (True, 3)
    room.mark(lines[2], busy=False)
    room.enter(lines[5])
    assert (lines[4].over, lines[2].over) == (True, False)
    room.leave(lines[5])
    room.leave(lines[5])
    room.enter(lines[6])
    assert (lines[2].over, len(room)) == (False, 3)
    room.clear()
    assert all(line.over for line in (lines[2], lines[3], lines[6]))
    assert len(room) == 0


def test_who_has_gone_is_not_marked() -> None:
    room: Room[Line] = Room(1)
    line = Line()
    room.mark(line, busy=True)
    room.mark(line, busy=False)
    assert len(room) == 0
