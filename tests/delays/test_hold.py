"""What a broker holds, by examples; `test_hold_changes` does to it whatever can be done."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_holds import (
    AGENTS,
    DROPS,
    LATE,
    MANY,
    ROUNDS,
    by_rounds,
    dues,
    fault,
    given_run,
    payload,
    put,
    put_in_force,
    wall,
)

from edgefw.delays.book import ArrivalBook
from edgefw.delays.edits import add, enable, remove, reset
from edgefw.delays.hold import RoundsHold, Taken, make_hold
from edgefw.delays.units import NEVER
from edgefw.errors import WireError
from edgefw.scenario.plan import delay_plan, scenario_plan

FAULTS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("rounds"), "rounds": st.integers(4, 6), "jitter": st.integers(0, 3)},
            optional={"apply_to": st.just("pending"), "at": st.integers(1, 4), "duration": st.integers(1, 5)},
        ),
        st.fixed_dictionaries(
            {"type": st.just("drop"), "probability": st.sampled_from([0.3, 1.0])},
            optional={"apply_to": st.just("pending"), "at": st.integers(1, 6), "duration": st.integers(1, 5)},
        ),
        st.fixed_dictionaries(
            {"type": st.just("blackout"), "at": st.integers(1, 5), "duration": st.just(3)},
            optional={"apply_to": st.just("new")},
        ),
        st.fixed_dictionaries(
            {
                "type": st.just("adversary"),
                "strategy": st.sampled_from(["burst", "newest_first", "starve"]),
                "period": st.integers(1, 4),
            },
            optional={"apply_to": st.just("pending")},
        ),
        st.just({"type": "adversary", "strategy": "until_end"}),
    ),
    max_size=3,
)


@settings(deadline=None, max_examples=100)
@given(FAULTS, st.lists(st.integers(1, 3), min_size=ROUNDS, max_size=ROUNDS))
def test_collecting_gives_the_simulators_arrivals_however_often_a_round_is_asked_for(
    faults: list[dict[str, Any]], times: list[int]
) -> None:
    run = given_run("rounds", *faults, agents=2)
    table, hold = delay_plan(run).table(), make_hold(scenario_plan(run), MANY)
    assert isinstance(hold, RoundsHold)
    book = ArrivalBook(table)
    for t in range(1, ROUNDS + 1):
        for agent in range(2):
            for _ in range(times[t - 1]):  # an answer that was lost on the way is asked for again
                taken = hold.submit(agent, t, payload(agent, t), 1.0, float(t))
                assert taken.dropped == (table[agent, t - 1] == NEVER)
                assert taken.dropped or taken.requested_delay == table[agent, t - 1]
                came = hold.collect(agent, t).deliveries
                assert tuple(sorted(held.round for held in came)) == book.at(t).get(agent, ())
                assert all(held.payload == payload(agent, held.round) for held in came)


def test_a_later_round_acknowledges_the_one_before() -> None:
    hold = by_rounds({"type": "rounds", "rounds": 2})
    for s in (1, 2, 3):
        put(hold, s)
    assert [held.round for held in hold.collect(0, 2).deliveries] == [1]
    assert hold.collect(0, 2).acknowledged == []
    arrived = hold.collect(0, 3)
    assert ([held.round for held in arrived.deliveries], arrived.acknowledged) == ([2], [1])
    assert (hold.links[0].pending, len(hold.links[0].released), hold.pending) == (1, 1, 1)


def test_a_skipped_round_loses_nothing() -> None:
    hold = by_rounds()
    for s in (1, 2, 3):
        put(hold, s)
    assert [held.round for held in hold.collect(0, 3).deliveries] == [1, 2, 3]


def test_a_round_that_is_over_or_not_submitted_cannot_be_collected() -> None:
    hold = by_rounds()
    put(hold, 1)
    put(hold, 3)
    with pytest.raises(WireError, match="agent 0 asks for round 3 and has not submitted round 2"):
        hold.collect(0, 3)
    with pytest.raises(WireError, match="agent 0 asks for round 2 and has not submitted round 2"):
        hold.collect(0, 2)
    put(hold, 2)
    hold.collect(0, 3)
    with pytest.raises(WireError, match="asks for round 1 and has asked for round 3") as refusal:
        hold.collect(0, 1)
    assert refusal.value.reason == "order"


@pytest.mark.parametrize("clock", ["wall", "rounds"])
def test_a_repeated_submission_is_acknowledged_and_kept_once(clock: str) -> None:
    late = {"type": "latency", "latency": "5s"} if clock == "wall" else {"type": "rounds", "rounds": 3}
    hold = make_hold(scenario_plan(given_run(clock, late)), MANY)
    first = hold.submit(0, 1, b"abc", 1.0, 0.0)
    again = hold.submit(0, 1, b"abc", 1.0, 4.0)
    assert again == first._replace(new=False)
    assert len(hold.links[0].held) == hold.links[0].count == 1
    with pytest.raises(WireError, match="agent 0 submitted round 1 before, with another payload") as refusal:
        hold.submit(0, 1, b"abd", 1.0, 4.0)
    assert refusal.value.reason == "conflict"


def test_a_submission_is_remembered_after_its_feedback_has_gone() -> None:
    hold = wall(LATE)
    put(hold, 2)
    assert hold.release(5.0)[0].round == 2
    assert hold.acknowledge(0, [2]) == [2]
    taken = hold.submit(0, 2, payload(0, 2), 1.0, 9.0)
    assert (taken.requested_delay, taken.new) == (5.0, False)
    assert (hold.links[0].held, hold.release(99.0), hold.next_due()) == ({}, [], None)


def test_what_is_dropped_is_not_kept() -> None:
    hold = wall(DROPS)
    for again in (False, True):
        taken = hold.submit(0, 3, b"x", 1.0, 0.0)
        assert (taken.requested_delay, taken.dropped, taken.new) == (0.0, True, not again)
    assert (hold.links[0].held, hold.next_due(), hold.release(math.inf), hold.pending) == ({}, None, [], 0)


def test_only_what_was_delivered_can_be_acknowledged_and_all_of_it_or_nothing() -> None:
    hold = wall(LATE, DROPS)
    for s in (1, 2, 3):
        put(hold, s)
    hold.release(0.0)
    for wrong in (2, 3, 4, 99):  # pending, dropped, not submitted, no such round
        with pytest.raises(WireError, match=f"acknowledges round {wrong}, which was never delivered"):
            hold.acknowledge(0, [1, wrong])
    assert [held.round for held in hold.unacknowledged(0)] == [1]


def test_the_run_starts_with_its_first_submission() -> None:
    hold = wall()
    assert hold.start is None
    put(hold, 1, now=17.0)
    put(hold, 2, now=18.0)
    assert hold.start == 17.0


def test_age_and_completeness() -> None:
    hold = wall()
    assert hold.links[0].oldest is None
    for s in range(1, ROUNDS + 1):
        for agent in range(AGENTS):
            assert not hold.complete
            put(hold, s, now=10.0 + s, agent=agent)
    assert hold.complete
    hold.release(11.0)
    hold.acknowledge(0, [1])
    assert [link.oldest for link in hold.links] == [12.0, 11.0, 11.0]


def test_what_new_faults_have_delayed_stays_so_and_pending_ones_let_go() -> None:
    hold = wall({"type": "latency", "latency": "5s", "name": "mine"})
    put(hold, 1, now=0.0)
    plan = add(
        hold.plan, hold.moment(1.0), None, fault(type="latency", latency="20s", apply_to="pending"), "x"
    )
    assert put_in_force(hold, plan, 1.0) == []
    assert dues(hold) == {1: 25.0}
    plan = remove(remove(hold.plan, None, "x"), None, "mine")
    put_in_force(hold, plan, 4.0)
    assert dues(hold) == {1: 5.0}
    put(hold, 2, now=4.5)
    assert dues(hold) == {1: 5.0, 2: 4.5}


def test_a_change_asks_again_for_the_links_that_it_concerns_and_no_other() -> None:
    hold = wall()
    for agent in range(AGENTS):
        put(hold, 1, agent=agent)
    slow = fault(type="latency", latency="9s", apply_to="pending")
    assert hold.change(add(hold.plan, hold.moment(1.0), 1, slow, None)) == [1]
    assert hold.change(add(hold.plan, hold.moment(1.0), None, fault(type="drop"), None)) == []  # for new ones
    assert hold.change(enable(hold.plan, 2, enabled=False)) == [2]
    assert hold.change(reset(hold.plan)) == [1]


def test_a_disabled_link_holds_everything_until_it_is_enabled() -> None:
    hold = wall()
    put(hold, 1)
    put_in_force(hold, enable(hold.plan, 0, enabled=False), 1.0)
    taken = hold.submit(0, 2, payload(0, 2), 1.0, 2.0)
    assert taken.requested_delay == math.inf
    assert (hold.next_due(), hold.release(1e9)) == (None, [])
    put_in_force(hold, enable(hold.plan, 0, enabled=True), 7.0)
    assert [held.round for held in hold.release(7.0)] == [1, 2]


def test_a_drop_that_acts_on_what_is_pending_takes_it_for_good() -> None:
    hold = wall({"type": "latency", "latency": "9s"})
    put(hold, 1)
    put(hold, 2)
    drop = add(hold.plan, hold.moment(1.0), 0, fault(type="drop", apply_to="pending"), "thief")
    assert put_in_force(hold, drop, 1.0) == [1, 2]
    assert put_in_force(hold, reset(hold.plan), 2.0) == []
    assert (hold.pending, hold.bytes, hold.links[0].pending, hold.links[0].lost) == (0, 0, 0, 2)
    assert hold.release(99.0) == []
    again = hold.submit(0, 1, payload(0, 1), 1.0, 3.0)  # is answered as before: it was not refused
    assert again == Taken(math.inf, dropped=False, new=False)


def test_until_the_end_comes_with_the_last_round() -> None:
    hold = wall({"type": "adversary", "strategy": "until_end", "agents": [0]})
    for s in range(1, ROUNDS):
        assert hold.submit(0, s, payload(0, s), 1.0, float(s)).requested_delay == math.inf
    assert hold.next_due() is None
    put(hold, ROUNDS, now=50.0)
    hold.withdraw(0, ROUNDS, 51.0)
    assert (hold.next_due(), hold.release(51.0)) == (None, [])
    put(hold, ROUNDS, now=52.0)
    assert [held.round for held in hold.release(52.0)] == list(range(1, ROUNDS + 1))


def test_until_the_end_comes_also_where_the_last_round_is_dropped() -> None:
    last = {"type": "drop", "at": f"{ROUNDS} rounds", "duration": "1 rounds"}
    hold = wall({"type": "adversary", "strategy": "until_end"}, last)
    put(hold, 1)
    assert hold.submit(0, ROUNDS, b"x", 1.0, 7.0).dropped
    assert [held.round for held in hold.release(7.0)] == [1]


def test_changes_of_other_links_leave_one_set_of_faults_on_a_link() -> None:
    hold = wall({"type": "latency", "latency": "1h"})
    for s in range(1, ROUNDS):
        put(hold, s)
        hold.change(enable(hold.plan, 2, enabled=2 in hold.plan.disabled))
    assert len({held.version for held in hold.links[0].waiting()}) == ROUNDS - 1
    assert len(hold.links[0].by_faults()) == 1
    hold.redue(0, 1.0)
    assert dues(hold) == dict.fromkeys(range(1, ROUNDS), 3600.0)


@pytest.mark.parametrize(("asked", "then"), [(2, {1, 2, 3}), (3, {1, 2, 4})])
def test_what_was_given_out_can_be_held_again_and_comes_with_the_next_round(
    asked: int, then: set[int]
) -> None:
    hold = by_rounds()
    for s in range(1, 5):
        put(hold, s)
    given_out = hold.collect(0, 2).deliveries
    hold.collect(0, asked)  # a later round acknowledges what came with the one before
    for held in given_out:
        hold.hold_again(held)
    assert list(hold.links[0].held) == [1, 2, 3, 4]
    assert hold.bytes == sum(len(payload(0, s)) for s in range(1, 5))
    hold.redue(0, 0.0)
    assert {held.round for held in hold.collect(0, asked + 1).deliveries} == then
    assert hold.pending == 3 - asked


def test_who_catches_up_gives_nothing_out_in_a_blackout_that_has_begun() -> None:
    hold = by_rounds({"type": "blackout", "at": 4, "duration": 2})
    for s in (1, 2, 3):
        put(hold, s)
    assert hold.catch_up(0, 3, 0.0) == []  # its agent has asked for round 3, as another broker knew
    assert hold.catch_up(0, 4, 0.0) == []  # nobody can have: it was not submitted
    assert hold.collected == [3]
    came = {}
    for t in (4, 5, 6):
        put(hold, t)
        came[t] = [held.round for held in hold.collect(0, t).deliveries]
    assert came == {4: [], 5: [], 6: [1, 2, 3, 4, 5, 6]}
