"""The broker's account put through its hold again: what a kill leaves is no forgery."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import playback
import pytest

from edgefw.core.account import Entry, Kind
from edgefw.delays import edits
from edgefw.delays.body import read_fault
from edgefw.delays.entry import Moment
from edgefw.delays.plan import plan_to_json
from edgefw.errors import RecordError
from edgefw.records import PlayRow
from edgefw.scenario.plan import scenario_plan
from edgefw.verification import arrivals
from edgefw.verification.broker import SECOND, BrokerAgain, Key
from edgefw.verification.outstanding import check_outstanding

SCENARIO = playback.scenario(clock="wall", pace="60ms", delays=[])
PLAN = plan_to_json(scenario_plan(SCENARIO), lambda moment: int(moment * SECOND))


def begun(moment: int) -> list[Entry]:
    return [Entry(moment, Kind.BEGUN, version=1), Entry(moment + 1, Kind.PLAN, version=1, plan=PLAN)]


def accepted(moment: int, s: int) -> Entry:
    return Entry(moment, Kind.ACCEPTED, 0, s, version=1, due=moment, norm=1.0)


def released(moment: int, s: int, due: int) -> Entry:
    return Entry(moment, Kind.RELEASED, 0, s, version=1, due=due)


def check(account: list[Entry]) -> None:
    BrokerAgain(SCENARIO, account).run(account)


FIRST = [*begun(0), accepted(SECOND, 1), released(SECOND + 5000, 1, SECOND)]
NEXT = [accepted(4 * SECOND, 2), released(4 * SECOND + 5000, 2, 4 * SECOND)]


@pytest.mark.parametrize(
    "again",
    [
        [released(3 * SECOND + 5000, 1, 3 * SECOND)],
        [
            Entry(3 * SECOND + 2000, Kind.ACKNOWLEDGED, 0, 1, version=1)
        ],  # the first copy: no second one is needed
    ],
    ids=["released again", "acknowledged before"],
)
def test_what_was_accepted_again_after_a_kill_may_have_been_released_before_it(again: list[Entry]) -> None:
    check([*FIRST, *begun(2 * SECOND), accepted(3 * SECOND, 1), *again, *NEXT])


def test_without_a_kill_it_was_accepted_twice() -> None:
    with pytest.raises(RecordError, match="accepted twice"):
        check([*FIRST, accepted(3 * SECOND, 1), *NEXT])


def test_what_was_due_before_others_has_to_be_released_before_them() -> None:
    with pytest.raises(RecordError, match="due before others that were released"):
        check([*begun(0), accepted(SECOND, 1), *NEXT, Entry(5 * SECOND, Kind.ACKNOWLEDGED, 0, 2)])


def recalled(moment: int, s: int, version: int = 1) -> Entry:
    """Return what a broker tells of an acceptance that its journal knows."""
    return Entry(moment, Kind.ACCEPTED, 0, s, version=version, norm=1.0)


def test_of_two_kills_the_broker_between_them_may_not_have_told_that_it_began() -> None:
    check([*FIRST, recalled(2 * SECOND, 1), *begun(3 * SECOND), released(3 * SECOND + 5000, 1, 0), *NEXT])


def test_a_recalled_acceptance_needs_a_restart_after_it() -> None:
    with pytest.raises(RecordError, match="accepted twice"):
        check([*FIRST, recalled(2 * SECOND, 1), *NEXT])


WITHDRAWN = [*FIRST, Entry(2 * SECOND, Kind.WITHDRAWN, 0, 1, version=1), accepted(3 * SECOND, 1)]


@pytest.mark.parametrize(
    "then",
    [
        [released(3 * SECOND + 5000, 1, 3 * SECOND)],
        [Entry(3 * SECOND + 2000, Kind.ACKNOWLEDGED, 0, 1, version=1)],  # its agent has the first copy
    ],
    ids=["released again", "acknowledged before"],
)
def test_what_was_released_before_it_could_not_be_kept_is_due_again(then: list[Entry]) -> None:
    check([*WITHDRAWN, *then, *NEXT])


def test_what_was_withdrawn_is_not_released_before_it_is_due_again() -> None:
    with pytest.raises(RecordError, match="released though it was not due"):
        check([*WITHDRAWN[:-1], released(2 * SECOND + 5000, 1, SECOND), *NEXT])


def test_a_run_whose_first_feedback_was_lost_with_a_kill_starts_anew() -> None:
    late = playback.scenario(
        clock="wall", pace="60ms", delays=[{"type": "blackout", "at": "500ms", "duration": "2s"}]
    )
    first = plan_to_json(scenario_plan(late), lambda moment: int(moment * SECOND))

    def begins(moment: int) -> list[Entry]:
        return [Entry(moment, Kind.BEGUN, version=1), Entry(moment + 1, Kind.PLAN, version=1, plan=first)]

    account = [
        *begins(0),
        accepted(SECOND, 1),
        *begins(2 * SECOND),
        accepted(3 * SECOND, 1),  # by the first start it would be held until 3.5 s
        released(3 * SECOND + 5000, 1, 3 * SECOND),
    ]
    BrokerAgain(late, account).run(account)


def test_what_a_killed_broker_dropped_later_may_come_all_the_same() -> None:
    scenario = playback.scenario(clock="wall", pace="60ms", delays=[{"type": "latency", "latency": "10s"}])
    plan = scenario_plan(scenario)
    text = plan_to_json(plan, lambda moment: int(moment * SECOND))
    drop = read_fault({"type": "drop", "apply_to": "pending", "duration": "1s"}, plan.rules).fault
    dropping = edits.add(plan, Moment(2.0, (1, 0, 0, 0)), None, drop, "drop")
    changed = plan_to_json(dropping, lambda moment: int(moment * SECOND))
    account = [
        Entry(0, Kind.BEGUN, version=1),
        Entry(1, Kind.PLAN, version=1, plan=text),
        Entry(SECOND, Kind.ACCEPTED, 0, 1, version=1, due=11 * SECOND, norm=1.0),
        Entry(2 * SECOND, Kind.PLAN, 0, 1, version=2, plan=changed, what="drop"),
        Entry(2 * SECOND + 1, Kind.REDUE, 0, version=2),
        Entry(2 * SECOND + 2, Kind.DROPPED, 0, 1, version=2),
        Entry(4 * SECOND, Kind.BEGUN, version=2),
        Entry(4 * SECOND + 1, Kind.PLAN, 0, 1, version=2, plan=changed, what="the broker begins with it"),
        Entry(11 * SECOND, Kind.RELEASED, 0, 1, version=2, due=11 * SECOND),
    ]
    BrokerAgain(scenario, account).run(account)
    without_kill = [entry for entry in account if not 4 * SECOND <= entry.moment < 5 * SECOND]
    with pytest.raises(RecordError, match="released though it was not due"):
        BrokerAgain(scenario, without_kill).run(without_kill)


def test_a_plan_that_came_just_before_a_kill_is_that_of_all_that_is_pending_after_it() -> None:
    scenario = playback.scenario(delays=[])
    plan = scenario_plan(scenario)
    first = plan_to_json(plan, lambda moment: int(moment * SECOND))
    slow = read_fault({"type": "rounds", "rounds": 3, "apply_to": "pending"}, plan.rules).fault
    second = plan_to_json(
        edits.add(plan, Moment(1.0, (0, 0, 0, 0)), 0, slow, "slow"), lambda moment: int(moment * SECOND)
    )
    account = [
        Entry(0, Kind.BEGUN, version=1),
        Entry(1, Kind.PLAN, version=1, plan=first),
        Entry(SECOND, Kind.ACCEPTED, 0, 1, version=1, due=1, norm=1.0),
        Entry(2 * SECOND, Kind.BEGUN, version=2),
        Entry(2 * SECOND + 1, Kind.PLAN, 0, 1, version=2, plan=second, what="the broker begins with it"),
        Entry(3 * SECOND, Kind.COLLECTED, 0, 1, version=2),
    ]
    broker = BrokerAgain(scenario, account)
    broker.run(account)
    assert broker.arrivals == {(0, 1): ()}


def test_what_is_accepted_again_was_not_there_in_between() -> None:
    late = playback.scenario(clock="wall", pace="60ms", delays=[{"type": "latency", "latency": "5s"}])
    first = plan_to_json(scenario_plan(late), lambda moment: int(moment * SECOND))

    def accepts(second: int, s: int) -> Entry:
        return Entry(second * SECOND, Kind.ACCEPTED, 0, s, version=1, due=(second + 5) * SECOND, norm=1.0)

    account = [
        *(Entry(0, Kind.BEGUN, version=1), Entry(1, Kind.PLAN, version=1, plan=first)),
        *(accepts(1, 1), accepts(2, 2)),  # the first is on disk, the second is not
        *(Entry(3 * SECOND, Kind.BEGUN, version=1), Entry(3 * SECOND + 1, Kind.PLAN, version=1, plan=first)),
        accepts(4, 3),
        released(6 * SECOND, 1, 6 * SECOND),
        accepts(8, 2),
        *(released(9 * SECOND, 3, 9 * SECOND), released(13 * SECOND, 2, 13 * SECOND)),
    ]
    BrokerAgain(late, account).run(account)


def test_a_plan_that_does_not_say_what_it_changed_asks_no_link_before_that_is_told() -> None:
    """As those of runs whose tables had no room for it."""
    plan = scenario_plan(SCENARIO)
    slow = read_fault({"type": "latency", "latency": "30s", "apply_to": "pending"}, plan.rules).fault
    changed = edits.add(plan, Moment(1.0, (1, 0, 0, 0)), 0, slow, "slow")
    second = plan_to_json(changed, lambda moment: int(moment * SECOND))
    account = [
        *begun(0),
        accepted(SECOND, 1),
        Entry(SECOND + 1, Kind.PLAN, version=2, plan=second),
        released(SECOND + 2, 1, SECOND)._replace(version=2),
        Entry(SECOND + 3, Kind.REDUE, 0, version=2),
    ]
    check(account)


def test_what_was_due_just_after_others_that_were_released_may_be_withdrawn_unreleased() -> None:
    check(
        [
            *begun(0),
            accepted(SECOND, 1),
            accepted(SECOND + 1, 2),
            released(
                SECOND + 2, 1, SECOND
            ),  # at this moment the second is due, and was not when it was looked
            Entry(SECOND + 3, Kind.WITHDRAWN, 0, 2, version=1),
            accepted(2 * SECOND, 3),
            released(2 * SECOND + 5000, 3, 2 * SECOND),
        ]
    )


DROPPING = playback.scenario(clock="wall", pace="60ms", delays=[{"type": "drop", "at": "2s"}])
FROM_2_S = plan_to_json(scenario_plan(DROPPING), lambda moment: int(moment * SECOND))
GIVEN_OUT = [  # before drops begin
    Entry(0, Kind.BEGUN, version=1),
    Entry(1, Kind.PLAN, version=1, plan=FROM_2_S),
    *(accepted(SECOND, 1), released(SECOND + 5000, 1, SECOND)),
    Entry(SECOND + 6000, Kind.WITHDRAWN, 0, 1, version=1),
]


def test_what_was_given_out_and_could_not_be_kept_is_not_dropped_by_the_same_broker() -> None:
    account = [
        *GIVEN_OUT,
        accepted(3 * SECOND, 1),
        Entry(3 * SECOND + 1, Kind.WITHDRAWN, 0, 1, version=1),  # once more, and this one was not given out
        *(accepted(4 * SECOND, 1), released(4 * SECOND + 5000, 1, 4 * SECOND)),
    ]
    BrokerAgain(DROPPING, account).run(account)


def test_a_broker_that_goes_on_knows_of_no_copy_that_could_not_be_kept() -> None:
    account = [
        *GIVEN_OUT,
        Entry(2 * SECOND, Kind.BEGUN, version=1, due=SECOND),
        Entry(2 * SECOND + 1, Kind.PLAN, 0, 1, version=1, plan=FROM_2_S, what="the broker begins with it"),
        Entry(4 * SECOND, Kind.ACCEPTED, 0, 1, version=1, norm=1.0),
        Entry(4 * SECOND + 1, Kind.DROPPED, 0, 1, version=1),
    ]
    BrokerAgain(DROPPING, account).run(account)


BY_ROUNDS = playback.scenario(delays=[])
UNDISTURBED = plan_to_json(scenario_plan(BY_ROUNDS), lambda moment: int(moment * SECOND))


def test_what_came_with_the_last_round_before_a_kill_may_be_dropped_by_the_next_broker() -> None:
    plan = scenario_plan(BY_ROUNDS)
    drop = read_fault({"type": "drop", "apply_to": "pending"}, plan.rules).fault
    dropping = edits.add(plan, Moment(5.0, (2, 0, 0, 0)), 0, drop, "drop")
    changed = plan_to_json(dropping, lambda moment: int(moment * SECOND))
    account = [
        Entry(0, Kind.BEGUN, version=1),
        Entry(1, Kind.PLAN, version=1, plan=UNDISTURBED),
        *(recalled(SECOND, 1), recalled(2 * SECOND, 2)),
        Entry(3 * SECOND, Kind.BEGUN, version=1),
        Entry(3 * SECOND + 1, Kind.PLAN, 0, 2, version=1, plan=UNDISTURBED, what="the broker begins with it"),
        Entry(4 * SECOND, Kind.ACCEPTED, 0, 3, version=1, due=3, norm=1.0),
        Entry(5 * SECOND, Kind.PLAN, 0, 3, version=2, plan=changed, what="drop"),
        Entry(5 * SECOND + 1, Kind.REDUE, 0, version=2),
        Entry(5 * SECOND + 2, Kind.DROPPED, 0, 2, version=2),  # whether it came with round 2 is not noted
        Entry(5 * SECOND + 3, Kind.DROPPED, 0, 3, version=2),
    ]
    BrokerAgain(BY_ROUNDS, account).run(account)
    account[-2] = Entry(5 * SECOND + 2, Kind.DROPPED, 0, 1, version=2)  # of that one it is
    with pytest.raises(RecordError, match="said to be dropped, by the plan it is not"):
        BrokerAgain(BY_ROUNDS, account).run(account)


def test_what_is_over_by_a_plan_that_nobody_knows_any_more_may_have_been_dropped() -> None:
    def over(moment: int, s: int, version: int) -> Entry:
        return Entry(moment, Kind.ACCEPTED, 0, s, version=version, norm=1.0)

    account = [
        Entry(0, Kind.BEGUN, version=1),
        Entry(1, Kind.PLAN, version=1, plan=UNDISTURBED),
        *(over(SECOND, 1, 1), over(2 * SECOND, 2, 2)),
        Entry(3 * SECOND, Kind.BEGUN, version=3),
        Entry(
            3 * SECOND + 1, Kind.PLAN, 0, 2, version=3, plan=UNDISTURBED.replace('"version":1', '"version":3')
        ),
    ]
    broker = BrokerAgain(BY_ROUNDS, account)
    broker.run(account)
    first = PlayRow(1, 0, 0.0, 0.0, (), 1, None)
    check_outstanding(broker, [first, PlayRow(2, 0, 0.0, 0.0, (1,), 0, None)])
    with pytest.raises(RecordError, match="said to be outstanding"):  # of the first the plan is known
        check_outstanding(broker, [replace(first, outstanding=0)])


@pytest.mark.parametrize("asked", [False, True])
def test_whether_a_link_was_asked_again_is_not_known_where_only_the_change_was_told(*, asked: bool) -> None:
    plan = scenario_plan(BY_ROUNDS)
    slow = read_fault({"type": "rounds", "rounds": 3, "apply_to": "pending"}, plan.rules).fault
    slowed = edits.add(plan, Moment(2.0, (0, 0, 0, 0)), 0, slow, "slow")
    changed = plan_to_json(slowed, lambda moment: int(moment * SECOND))
    account = [
        Entry(0, Kind.BEGUN, version=1),
        Entry(1, Kind.PLAN, version=1, plan=UNDISTURBED),
        Entry(SECOND, Kind.ACCEPTED, 0, 1, version=1, due=1, norm=1.0),
        Entry(2 * SECOND, Kind.PLAN, 0, 1, version=2, plan=changed, what="slow"),
        *([Entry(2 * SECOND + 1, Kind.REDUE, 0, version=2)] if asked else []),
        Entry(3 * SECOND, Kind.BEGUN, version=2),
        Entry(3 * SECOND + 1, Kind.PLAN, 0, 1, version=2, plan=changed, what="the broker begins with it"),
        Entry(4 * SECOND, Kind.ACCEPTED, 0, 2, version=2, due=4, norm=1.0),
        Entry(6 * SECOND, Kind.COLLECTED, 0, 2, version=2),
        Entry(7 * SECOND, Kind.ACCEPTED, 0, 3, version=2, due=5, norm=1.0),
        Entry(8 * SECOND, Kind.COLLECTED, 0, 3, version=2),
    ]
    broker = BrokerAgain(BY_ROUNDS, account)
    broker.run(account)
    assert ((0, 1) in broker.unseen) == (not asked)
    assert [broker.arrivals[0, t] for t in (1, 3)] == [() if asked else (1,), (1,)]


@pytest.mark.parametrize(("before", "believed"), [(0, True), (1, True), (3_000, False)])
def test_a_broker_may_add_up_to_a_moment_that_is_a_little_before_the_replays(
    before: int, *, believed: bool
) -> None:
    late = playback.scenario(clock="wall", pace="60ms", delays=[{"type": "latency", "latency": "5s"}])
    first = plan_to_json(scenario_plan(late), lambda moment: int(moment * SECOND))
    due = 6 * SECOND
    account = [
        Entry(0, Kind.BEGUN, version=1),
        Entry(1, Kind.PLAN, version=1, plan=first),
        Entry(SECOND, Kind.ACCEPTED, 0, 1, version=1, due=due, norm=1.0),
        released(due - before, 1, due - min(before, 1)),
    ]
    if believed:
        BrokerAgain(late, account).run(account)
    else:
        with pytest.raises(RecordError, match="released though it was not due"):
            BrokerAgain(late, account).run(account)


class Walked(dict[Key, Entry]):
    """Acceptances that count how often all of them are gone through."""

    walks = 0

    def values(self) -> Any:
        self.walks += 1
        return super().values()

    def items(self) -> Any:
        self.walks += 1
        return super().items()


@pytest.mark.parametrize("rounds", [4, 40])
def test_acceptances_are_gone_through_as_often_in_a_long_run_as_in_a_short_one(rounds: int) -> None:
    seconds = [each * SECOND for each in range(1, rounds + 1)]
    told = [each for s, at in enumerate(seconds, 1) for each in (accepted(at, s), released(at + 5000, s, at))]
    late = playback.scenario(clock="wall", pace="60ms", delays=[], algorithm={"horizon": rounds})
    account = [*begun(0), *told]
    broker = BrokerAgain(late, account)
    broker.run(account)
    broker.accepted = walked = Walked(broker.accepted)
    rows = [PlayRow(t, 0, 0.0, 0.0, (t - 1,) if t > 1 else (), 1, None) for t in range(1, rounds + 1)]
    arrivals._check_order(broker, rows, account[-1].moment)
    assert walked.walks == 1
