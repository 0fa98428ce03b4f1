"""Where entries of an account may be missing: from the last that a killed broker told to the next BEGUN."""

from __future__ import annotations

import pytest

from edgefw.core.account import Entry, Kind
from edgefw.verification.untold import Span, Untold

ACCOUNT = [
    Entry(10, Kind.BEGUN, version=1),
    Entry(11, Kind.PLAN, version=1),
    Entry(20, Kind.ACCEPTED, 0, 1, 1, due=25),
    Entry(25, Kind.RELEASED, 0, 1, 1, due=25),
    Entry(30, Kind.ACCEPTED, 0, 2, 1),  # told again, by a broker that knows of no due time
    Entry(35, Kind.ACCEPTED, 0, 3, 1),
    Entry(40, Kind.BEGUN, version=1),
    Entry(41, Kind.PLAN, version=1),
    Entry(50, Kind.ACCEPTED, 0, 4, 1, due=50),
    Entry(60, Kind.BEGUN, version=1),
]


def test_a_span_goes_from_the_last_that_was_told_to_the_next_beginning() -> None:
    assert Untold(ACCOUNT).spans == (Span(25, 40, 1, 1), Span(50, 60, 1, 1))
    assert Untold(ACCOUNT[:6]).spans == ()  # the end of a run is no restart


@pytest.mark.parametrize(
    ("moment", "excused"), [(20, False), (25, False), (30, True), (40, False), (55, True)]
)
def test_only_what_lies_in_a_span_is_excused(moment: int, *, excused: bool) -> None:
    assert Untold(ACCOUNT).covers(moment) == excused


@pytest.mark.parametrize(
    ("after", "before", "maybe"),
    [(11, 20, False), (20, 35, True), (35, 50, True), (41, 50, False), (35, 39, True)],
)
def test_something_between_two_moments_may_be_missing_where_they_touch_a_span(
    after: int, before: int, *, maybe: bool
) -> None:
    assert Untold(ACCOUNT).between(after, before) == maybe


def test_a_restart_lies_between_what_was_before_and_what_was_after_it() -> None:
    untold = Untold(ACCOUNT)
    assert [untold.restarted(20, 50), untold.restarted(41, 50), untold.restarted(20, 30)] == [
        True,
        False,
        False,
    ]
    assert [untold.since(55), untold.since(60)] == [True, False]
