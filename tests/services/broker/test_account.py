"""What the broker tells: in order, whatever the clock says, and after a restart what its journal knows."""

from __future__ import annotations

from loopback_broker import scenario

from edgefw.core.account import Entry, Kind
from edgefw.delays.hold import make_hold
from edgefw.records import content_hash
from edgefw.scenario.plan import scenario_plan
from edgefw.services.broker.account import Account
from edgefw.services.broker.journal import Restored, Row, State
from edgefw.services.broker.limits import limits_of
from edgefw.services.broker.timeline import SECOND, Timeline
from edgefw.verification.untold import Span, Untold

PLAN = scenario_plan(scenario("wall", {"type": "latency", "latency": "2s"}))
ZERO = 10**18


def telling() -> tuple[Account, list[Entry]]:
    entries: list[Entry] = []
    return Account(Timeline(ZERO, None), entries.append), entries


def test_entries_have_increasing_moments_even_if_the_clock_stands_still() -> None:
    account, entries = telling()
    account.begin(PLAN, 1.0)
    account.acknowledged(0, (1, 2, 3), 1.0)
    account.dropped(1, (4,), 0.5)
    assert [entry.moment - ZERO - SECOND for entry in entries] == [0, 1, 2, 3, 4, 5]


def test_an_acceptance_has_the_hash_of_its_payload_and_its_due_time() -> None:
    account, entries = telling()
    account.begin(PLAN, 1.0)
    entries.clear()
    hold = make_hold(PLAN, limits_of(scenario()))
    hold.submit(1, 1, b"payload", 0.5, 3.0)
    moment = account.accepted((1, 1), b"payload", 0.5, hold.links[1].held[1], 3.0)
    assert moment == ZERO + 3 * SECOND
    due = ZERO + 5 * SECOND
    assert entries == [Entry(moment, Kind.ACCEPTED, 1, 1, 1, due, content_hash(b"payload"), 0.5)]


def test_what_is_dropped_at_once_is_told_as_well() -> None:
    account, entries = telling()
    account.accepted((1, 1), b"payload", 0.5, None, 3.0)
    assert [(entry.kind, entry.due) for entry in entries] == [(Kind.ACCEPTED, None), (Kind.DROPPED, None)]


def test_a_broker_that_goes_on_tells_first_what_its_journal_knows_with_the_moments_it_had() -> None:
    account, entries = telling()
    rows = [
        Row(0, 1, ZERO + 70, 1, 0.1, 0.0, State.PENDING, b"held"),
        Row(1, 1, ZERO + 50, 1, 0.2, 0.0, State.DONE, None),
    ]
    account.recall(Restored(rows=rows))
    account.begin(PLAN, 2.0)
    assert [entry.kind for entry in entries] == [Kind.ACCEPTED, Kind.ACCEPTED, Kind.BEGUN, Kind.PLAN]
    assert [(entry.moment - ZERO, entry.hash) for entry in entries[:2]] == [
        (50, None),
        (70, content_hash(b"held")),
    ]


def test_where_nobody_wants_an_account_the_moment_of_an_acceptance_is_the_clocks() -> None:
    account = Account(Timeline(ZERO, None), None)
    account.begin(PLAN, 1.0)
    assert {account.accepted((0, s), b"", 0.0, None, 2.0) for s in (1, 2)} == {ZERO + 2 * SECOND}


def test_the_plan_of_what_is_pending_is_told_with_it_for_a_killed_broker_may_not_have_told_it() -> None:
    account, entries = telling()
    rows = [
        Row(0, 1, ZERO + 50, 1, 0.1, 0.0, State.DONE, None),
        Row(0, 2, ZERO + 70, 3, 0.1, 0.0, State.PENDING, b"held"),
        Row(1, 2, ZERO + 80, 3, 0.1, 0.0, State.PENDING, b"held"),
    ]
    account.recall(Restored(rows=rows, plans={3: "the third"}))
    assert [(entry.moment - ZERO, entry.kind, entry.version, entry.plan) for entry in entries] == [
        (50, Kind.ACCEPTED, 1, None),
        (69, Kind.PLAN, 3, "the third"),
        (70, Kind.ACCEPTED, 3, None),
        (80, Kind.ACCEPTED, 3, None),
    ]


def test_a_broker_whose_journal_knows_of_no_acceptance_tells_all_the_same_that_it_is_not_the_first() -> None:
    account, entries = telling()
    account.recall(Restored())
    account.begin(PLAN, 2.0)
    assert [(entry.kind, entry.what) for entry in entries] == [
        (Kind.PLAN, None),
        (Kind.BEGUN, None),
        (Kind.PLAN, "the broker begins with it"),
    ]
    assert Untold(entries).spans == (Span(0, entries[1].moment, 1, 1),)
